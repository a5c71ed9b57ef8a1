// Extensions: what is noted of them, and what they have that no row tells again.

internal import QuireStorage

extension SalvageWork {
  /// Notes all extensions as out of date, and copies what those have that keep content of their own.
  func salvageExtensions(
    _ tx: borrowing QuireStorage.WriteTransaction, _ rows: Tree, _ kinds: [any SalvagedContent.Type]
  ) throws {
    let found = try readNotes()
    for id in Set(sources.contents.keys).subtracting(found.records.map(\.record.id.rawValue)).sorted() {
      try report(
        SalvageFinding(
          .lostContent,
          """
          What is noted of the extension with the number \(id) is lost, its name among it. The app makes it anew when \
          it registers it; what it had of its own, such as edges made by hand, is lost.
          """))
    }
    guard found.next != nil || !found.records.isEmpty else { return }
    let catalog = try tx.createTree(ExtensionRecord.treeName, keys: .bytes)
    let last = (Array(sources.contents.keys) + found.records.map(\.record.id.rawValue)).max() ?? 0
    let next = min(max(found.next ?? 1, last &+ 1), ExtensionID.firstInMemory)
    try tx.put(next.littleEndianBytes, for: ExtensionCatalog.nextIDKey, in: catalog)
    var copied: Set<UInt32> = []
    for (name, stored) in found.records {
      var record = stored
      record.state = .stale
      try tx.put(record.bytes, for: ExtensionCatalog.recordKey(name), in: catalog)
      let isCopied = try salvageContent(of: name, stored, tx, rows, kinds)
      if isCopied { copied.insert(stored.id.rawValue) }
    }
    try copyValues(of: copied, tx, catalog)
  }

  private struct Notes {
    var next: UInt32?
    var records: [(name: String, record: ExtensionRecord)] = []
  }

  private func readNotes() throws -> Notes {
    var notes = Notes()
    var taken: Set<UInt32> = []
    try forEach(sources.extensions, "extensions") { entry throws in
      guard entry.integerKey == nil, unsafe entry.key.first == UInt8(ascii: "r") || entry.key.count == 1 else { return }
      let (key, value) = unsafe ([UInt8](entry.key), [UInt8](entry.value))
      if key == ExtensionCatalog.nextIDKey { notes.next = UInt32(littleEndianBytes: value) }
      guard key.first == UInt8(ascii: "r") else { return }
      guard let name = String(validating: key.dropFirst(), as: UTF8.self),
        let record = try? ExtensionRecord(value, name: name),
        record.id < ExtensionID(rawValue: ExtensionID.firstInMemory),
        taken.insert(record.id.rawValue).inserted
      else { return try report(SalvageFinding(.lostContent, "What is noted of an extension breaks the format.")) }
      notes.records.append((name, record))
    }
    try tellLosses(
      of: sources.extensions, as: .madeAnew, "Notes of extensions are lost, which are made anew when registered")
    return notes
  }

  // MARK: Content

  /// Calls `body` with the entries of a tree that are worth taking. Those that may be old are where nothing leads to
  /// the newest ones, and all are of one state: of a tree whose root is known. Others could be removed ones; where they
  /// stand for a lost range, that is told.
  private func forEachOwn(_ tree: SalvagedTree?, _ what: String, _ body: (SalvagedEntry) throws -> Void) throws {
    guard let tree else { return }
    let takesOld = !tree.isCurrent && tree.count != nil
    var oldCount = 0
    try forEach(tree, what) { entry throws in
      if entry.standing == .mayBeOld {
        oldCount += 1
        guard takesOld else { return }
      }
      try body(entry)
    }
    guard oldCount > 0, !tree.isCurrent else { return }
    if takesOld {
      try report(SalvageFinding(.oldRow, "Entries of \(what), which no row tells again, may be old.", count: oldCount))
    } else {
      try report(SalvageFinding(.lostContent, "Entries of \(what) may be old, and are left out.", count: oldCount))
    }
  }

  /// Returns whether everything of the extension is copied as it is.
  private func salvageContent(
    of name: String, _ record: ExtensionRecord, _ tx: borrowing QuireStorage.WriteTransaction, _ rows: Tree,
    _ kinds: [any SalvagedContent.Type]
  ) throws -> Bool {
    let trees = sources.contents[record.id.rawValue] ?? []
    let kind = kinds.first { $0.kind == record.kind && $0.formatVersion == record.formatVersion }
    // A record that does not say whether there is such content is of an old version.
    guard kind != nil || record.keepsOwnContent || record.collections == nil else { return false }
    let target = SalvagedContentTarget(tx, rows, record.id, name) { [unowned self] in try report($0) }
    defer { entryCount += target.entryCount }
    guard let kind else {
      for (inner, tree) in trees {
        try forEachOwn(tree, "“\(name)”") { entry throws in try target.copy(entry, of: tree.keyKind, to: inner) }
        try tellLosses(of: tree, as: .lostContent, "A part of what “\(name)” keeps of its own, in its tree “\(inner)”")
      }
      return true
    }
    var content = kind.init()
    for (inner, tree) in trees {
      try forEachOwn(tree, "“\(name)”") { entry throws in
        try content.take(SalvagedContentEntry(entry), of: inner, into: target)
      }
    }
    let damaged = Set(trees.filter { !losses(of: $0.tree).isEmpty }.map(\.name))
    let costly = try content.finish(damaged, into: target)
    for (inner, tree) in trees where damaged.contains(inner) {
      let isLost = costly.contains(inner)
      try tellLosses(
        of: tree, as: isLost ? .lostContent : .madeAnew,
        "“\(name)” has lost a part of its tree “\(inner)”\(isLost ? "" : ", which its other trees tell again")")
    }
    return false
  }

  /// Copies the values that extensions have set, in one pass for all of them.
  private func copyValues(
    of ids: Set<UInt32>, _ tx: borrowing QuireStorage.WriteTransaction, _ catalog: Tree
  ) throws {
    guard !ids.isEmpty else { return }
    try forEachOwn(sources.extensions, "values of extensions") { entry throws in
      guard entry.integerKey == nil, unsafe entry.key.first == UInt8(ascii: "v") else { return }
      let id = unsafe UInt32(bigEndianBytes: [UInt8](entry.key.dropFirst().prefix(4)))
      guard let id, ids.contains(id) else { return }
      unsafe try tx.put(entry.value, for: entry.key, in: catalog)
      entryCount += 1
    }
  }
}
