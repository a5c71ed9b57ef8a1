// Changing rows, and the model with them.

import QuireDatabase
import QuireTesting

extension RowLife {
  private struct Undo: Error {}
  /// What a control says of a transaction that is there.
  struct Refusal: Error {}

  func transact(_ db: Database, _ random: inout SeededRandom) throws {
    if control == .forgets || control == .openings { remembered = disk.processKillImage() }
    if control == .alarms, random.oneIn(6) { throw DatabaseError(.diskFull, "A false alarm.") }
    try commit(db, &random) { [self] tx, changed, random in
      try change(tx, &changed, &random)
      for _ in 0..<random.below(3) {
        let before = changed
        do {
          try tx.savepoint {
            try change(tx, &changed, &random)
            if random.oneIn(2) { throw Undo() }
          }
        } catch is Undo { changed = before }
        stepCheckpoint(db, &random)
      }
      if random.oneIn(8) { throw Undo() }
    }
    if control == .refusals, random.oneIn(6) {
      states[states.count - 1] = states.count > 1 ? states[states.count - 2] : RowState()
      throw Refusal()
    }
  }

  /// Has `body` change rows and model, and notes what may be there then.
  private func commit(
    _ db: Database, _ random: inout SeededRandom,
    _ body: (WriteTransaction, inout RowState, inout SeededRandom) throws -> Void
  ) throws {
    stepCheckpoint(db, &random)
    var changed = newest
    do { try db.write { tx in try body(tx, &changed, &random) } } catch is Undo { return } catch {
      // Anything else says that nothing of it is there.
      if (error as? DatabaseError)?.code == .outcomeUnknown {
        changed.settle(newest, registered)
        unknown = changed
      }
      throw error
    }
    changed.settle(newest, registered)
    states = durability == .full ? [changed] : states + [changed]
    if faults.isCalm { try checkDeletedFiles(db) }
    stepCheckpoint(db, &random)
  }

  /// A checkpoint that has begun goes on for some pieces of its work.
  private func stepCheckpoint(_ db: Database, _ random: inout SeededRandom) {
    for _ in 0..<random.below(4) {
      if disk.isPoweredOff || !db.engine.core.stepCheckpoint() { return }
      note("step of a checkpoint")
    }
  }

  private func change(_ tx: WriteTransaction, _ state: inout RowState, _ random: inout SeededRandom) throws {
    for _ in 0..<1 + random.below(9) {
      let key = "k\(random.below(Self.keyCount))"
      switch random.below(25) {
      case 0...9:
        let row = RowState.Row(row: .random(&random), metadata: random.oneIn(2) ? random.below(1000) : nil)
        try tx[.rows].set(row.row, metadata: row.metadata, for: key)
        state.rows[key] = row
        state.edges.asked.insert(key)
      case 10...12:
        try tx[.rows].remove(key)
        state.rows[key] = nil
      case 13:
        let metadata = random.oneIn(3) ? nil : random.below(1000)
        try tx[.rows].replaceMetadata(metadata, for: key)
        state.rows[key]?.metadata = metadata
      case 14...16:
        let row = TortureRow.random(&random)
        try tx[.documents].set(row, for: key)
        state.documents[key] = row
      case 17:
        try tx[.documents].remove(key)
        state.documents[key] = nil
      case 18, 19: try changeNote(key, tx, &state, &random)
      case 20...22: try changeCover("c\(random.below(8))", tx, &state, &random)
      default: try changeSecret(key, tx, &state, &random)
      }
    }
  }

  private func changeNote(
    _ key: String, _ tx: WriteTransaction, _ state: inout RowState, _ random: inout SeededRandom
  ) throws {
    let text = "note \(random.below(100))"
    if isUpgraded {
      var note = Note(text)
      if control == .lengths { note.length += 1 }
      try tx[.notes].set(note, for: key)
    } else {
      try tx[.oldNotes].set(OldNote(text: text), for: key)
    }
    state.notes[key] = text
  }

  /// Few keys, so that covers are often replaced, and their files go.
  private func changeCover(
    _ key: String, _ tx: WriteTransaction, _ state: inout RowState, _ random: inout SeededRandom
  ) throws {
    if random.oneIn(4) {
      try tx[.covers].remove(key)
      state.covers[key] = nil
    } else {
      let cover = makeCover(state, &random)
      try tx[.covers].set(cover, for: key)
      state.covers[key] = cover
    }
  }

  private func changeSecret(
    _ key: String, _ tx: WriteTransaction, _ state: inout RowState, _ random: inout SeededRandom
  ) throws {
    var row = TortureRow.random(&random)
    row.title = RowSecrets.title + row.title
    guard RowSecrets.isOn else { return }
    if random.oneIn(4) {
      try secrets.remove(key, tx)
      state.secrets[key] = nil
    } else {
      try secrets.set(row, for: key, tx)
      state.secrets[key] = row
    }
  }

  /// A cover of new files, or of one that others have.
  private func makeCover(_ state: RowState, _ random: inout SeededRandom) -> Cover {
    let owner = random.oneIn(3) ? "" : "k\(random.below(Self.keyCount))"
    var cover = Cover(owner: owner, files: [], isShared: random.oneIn(2))
    let known = state.files.sorted()
    for _ in 0..<random.below(3) {
      if !known.isEmpty, random.oneIn(4) {
        cover.files.append(random.pick(known))
      } else {
        fileCount += 1
        let path = "/files/f\(fileCount)"
        disk.install(Array(path.utf8), at: path)
        cover.files.append(path)
      }
    }
    return cover
  }

  /// So many rows that a dictionary may be trained from them, in one transaction.
  func fill(_ db: Database, _ random: inout SeededRandom) throws {
    try commit(db, &random) { tx, changed, random in
      for number in 0..<400 {
        var row = TortureRow.random(&random)
        row.title += String(repeating: "what most of them have in common, ", count: 8)
        let key = "f\(random.below(1500))-\(number % 3)"
        try tx[.rows].set(row, for: key)
        changed.rows[key] = RowState.Row(row: row, metadata: nil)
        changed.edges.asked.insert(key)
      }
    }
  }

  func clear(_ db: Database, _ random: inout SeededRandom) throws {
    let isAll = random.oneIn(4)
    try commit(db, &random) { tx, changed, _ in
      if isAll {
        try tx.removeAll()
        (changed.rows, changed.documents, changed.notes) = ([:], [:], [:])
        (changed.covers, changed.secrets) = ([:], [:])
      } else {
        try tx[.rows].removeAll()
        changed.rows = [:]
      }
    }
  }
}
