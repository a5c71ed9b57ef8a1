// Looking at the open database, its extensions, files and backups, and beginning and ending extensions.

import QuireDatabase
import QuireRelationships
import QuireTesting

extension RowLife {
  // MARK: Looking

  /// Sees that the open database shows what it must, and that all of it verifies. In peace: reading changes nothing.
  func checkAll() throws {
    guard let db else { return }
    disk.powerOff(beforeChange: nil)
    disk.faultsAreEnabled = false
    defer { disk.faultsAreEnabled = true }
    do {
      let found = try db.read { tx in try RowState(tx, isUpgraded: isUpgraded, secrets) }
      if let difference = found.difference(from: newest) {
        throw RowFinding("the open database shows another state: \(difference)")
      }
      try db.verify()
      for known in inOrder(registered) {
        do { try known.check(db, newest) } catch let finding as RowFinding {
          throw RowFinding("\(known.name): \(finding)")
        }
      }
    } catch let error as DatabaseError {
      // After a failed sync what was not durable may be unreadable until it is opened again.
      guard error.code == .failStop, hasStruck else { throw RowFinding("a look: \(error)") }
      throw error
    } catch let finding as RowFinding { throw finding } catch { throw RowFinding("a look: \(error)") }
    try checkFiles()
    if faults.isCalm { try checkDeletedFiles(db) }
    try RowSecrets.check(disk)
  }

  /// Sees that the files are there that rows name.
  func checkFiles() throws {
    if disk.isPoweredOff { return }
    for path in newest.files where disk.bytes(of: path) != Array(path.utf8) {
      throw RowFinding("\(path) is gone, which a row names")
    }
  }

  /// Sees that no files are there that no row names any more, if every relationship is registered that may name them.
  func checkDeletedFiles(_ db: Database) throws {
    if disk.isPoweredOff { return }
    let relationships = try db.extensions().filter { $0.kind == Relationship<Cover>.kind }
    guard registered.contains(.files), relationships.allSatisfy({ $0.isRegistered && $0.state == .ready }) else {
      return
    }
    let names = Set(disk.names)
    let left = newest.edges.owed.intersection(names)
    if let path = left.min() { throw RowFinding("\(path) has not been deleted, although no row names it") }
    let mayReturn = newest.edges.owed.intersection(disk.durableNames)
    note("looked at deleted files")
    newest.edges.owed = mayReturn
  }

  /// What is to be looked at after a call that failed and has left the database able to write.
  func settleFailure(_ db: Database) throws {
    disk.powerOff(beforeChange: nil)
    disk.faultsAreEnabled = false
    defer { disk.faultsAreEnabled = true }
    if let state = unknown {
      // Registering may have gone as far as to change rows.
      let found = try db.read { tx in try RowState(tx, isUpgraded: isUpgraded, secrets) }
      if found.difference(from: newest) != nil { states.append(state) }
      unknown = nil
    }
    let statuses = try db.extensions()
    func isReady(_ known: TortureExtension) -> Bool {
      statuses.contains { $0.name == known.name && $0.isRegistered && $0.state == .ready }
    }
    registered = registered.filter(isReady)
    if let (gone, before) = unregistering, isReady(gone) {
      registered.insert(gone)
      states = before
    }
    unregistering = nil
    note("went on after a failed call")
    try checkAll()
  }

  // MARK: Extensions

  func register(_ new: TortureExtension, _ db: Database) throws {
    if registered.contains(new) { return }
    var after = newest
    let old = after.edges.parents
    // If it fails, it may have come to its end all the same; and what it was asked to delete is not certain.
    if new == .graph { newest.edges.parents = .unsure(known(old)) }
    if new == .files {
      let edges = newest.edges
      after.settleCovers()
      unknown = after
      unknown?.edges.files = edges.files.intersection(after.files)
      unknown?.edges.owed = edges.owed.subtracting(after.files)
    }
    let wasBuilt = try new.register(in: db, disk, control)
    if new == .graph { after.edges.parents = try parents(after, old, wasBuilt: wasBuilt, db) }
    registered.insert(new)
    states = durability == .full ? [after] : states + [after]
    unknown = nil
    // Otherwise nobody knows after a power cut how far it had come.
    try db.flush()
    states = [after]
    try new.check(db, after)
  }

  private func known(_ parents: RowEdges.Parents) -> [String: String]? {
    switch parents {
    case .known(let edges): edges
    case .stale: nil
    case .unsure(let edges): edges
    }
  }

  /// Which edges there are after registering.
  private func parents(
    _ state: RowState, _ old: RowEdges.Parents, wasBuilt: Bool, _ db: Database
  ) throws -> RowEdges.Parents {
    if wasBuilt { return .known(state.allParents) }
    switch old {
    case .known: return old
    case .stale: throw RowFinding("edges are taken for up to date, and rows have changed without them")
    case .unsure(let edges?):
      let count = try db.read { tx in try tx.relationship(TortureExtension.parents).count() }
      return .known(count == edges.count ? edges : state.allParents)
    case .unsure(nil): return .known(state.allParents)
    }
  }

  func unregister(_ gone: TortureExtension, _ db: Database) throws {
    guard registered.remove(gone) != nil else { return }
    unregistering = (gone, states)
    // With it go its edges, and its list of files.
    for index in states.indices {
      if gone == .graph { states[index].edges.parents = .unsure(known(states[index].edges.parents)) }
      if gone == .files { (states[index].edges.files, states[index].edges.owed) = ([], []) }
    }
    try db.unregister(extensionNamed: gone.name)
    unregistering = nil
    try db.flush()
    states = [newest]
    if gone == .graph { newest.edges.parents = .stale }
  }

  /// Relationships that are not stored know of no edges and no files.
  func forgetUnstored(_ state: inout RowState, _ db: Database) throws {
    let stored = try db.extensions().map(\.name)
    if !stored.contains(TortureExtension.graph.name) { state.edges.parents = .stale }
    if !stored.contains(TortureExtension.files.name) { (state.edges.files, state.edges.owed) = ([], []) }
  }

  // MARK: Backups

  private struct Stop: Error {}

  /// Makes a backup, or stops it half-way: then nothing is under its name.
  func backUp(_ db: Database, _ random: inout SeededRandom) throws {
    for name in disk.names where name.hasPrefix("/backup") { disk.remove(name) }
    var stopAfter = random.oneIn(2) ? random.below(6) : Int.max
    let seed = random.next()
    backup = (newest, false)
    do {
      _ = try db.backup(to: "/backup") { _ in
        stopAfter -= 1
        if stopAfter < 0 { throw Stop() }
      }
      backup = (newest, true)
      if control == .backups { disk.flipBit(3, at: 4096 * 3 + 100, of: "/backup") }
      // At once after a power cut, and not from what the system remembers.
      try checkBackup(disk.crashImage(.random(seed)))
      note("backup opened after a power cut")
    } catch is Stop {
      note("backup stopped")
      if control == .halfBackups { disk.install([1, 2, 3], at: "/backup") }
      if disk.exists("/backup") || faults.isCalm && disk.names.contains(where: { $0.hasPrefix("/backup") }) {
        if !disk.isPoweredOff { throw RowFinding("a backup that was stopped has left something") }
      }
    } catch {
      // Its name may be there if it could not be taken back; then it is whole.
      if !disk.isPoweredOff { try checkBackup(disk) }
      throw error
    }
  }

  /// Sees that a backup that was reported is there, and that one that is there is whole.
  func checkBackup(_ disk: SimulatedDisk) throws {
    guard let backup else { return }
    let copy = disk.copy()
    copy.setFaultPlan(.none)
    copy.powerOff(beforeChange: nil)
    guard copy.exists("/backup") else {
      if backup.isDone { throw RowFinding("a backup is gone that was reported") }
      return self.backup = nil
    }
    do {
      let opened = try copy.openDatabase(at: "/backup", seed: 1, options)
      let found = try opened.read { tx in try RowState(tx, isUpgraded: isUpgraded, secrets) }
      if let difference = found.difference(from: backup.state) {
        throw RowFinding("the backup is another state: \(difference)")
      }
      try opened.verify()
      try opened.close()
    } catch let finding as RowFinding { throw finding } catch { throw RowFinding("the backup: \(error)") }
  }
}
