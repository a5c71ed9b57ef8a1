// What salvage delivers of a damaged database, and what is wrong with that.

import QuireStorage

/// All that one reading has delivered.
struct SalvageOutcome {
  typealias Key = SalvageDatabase.Key

  struct Entry {
    let value: [UInt8]
    let standing: SalvageStanding
  }

  let source: SalvageSource
  var entries: [Key: Entry] = [:]
  var losses: [SalvageLoss]
  /// Keys that came twice or out of order.
  var misplaced: [Key] = []
  let names: [TreeID: String]

  init(_ disk: any FileSystem, _ options: SalvageOptions = SalvageOptions()) throws {
    let reader = try SalvageReader(at: SalvageDatabase.path, options: options, fileSystem: disk)
    source = reader.source
    var names: [TreeID: String] = [:]
    var (found, wrong): ([Key: Entry], [Key]) = ([:], [])
    for tree in reader.trees {
      if let name = tree.name { names[tree.id] = name }
      var last: [UInt8]?
      try reader.forEachEntry(of: tree) { entry in
        let key = Key(tree: tree.id, key: Array(entry.key))
        if let last, !last.lexicographicallyPrecedes(key.key) { wrong.append(key) }
        last = key.key
        found[key] = Entry(value: Array(entry.value), standing: entry.standing)
      }
    }
    (self.names, entries, misplaced, losses) = (names, found, wrong, reader.losses)
  }

  /// Whether a loss speaks for an entry.
  func isCovered(_ key: Key) -> Bool {
    losses.contains { loss in
      switch loss.kind {
      case .catalog, .log, .metaPage: return true
      case .range, .value:
        guard loss.tree == key.tree else { return false }
        if let lower = loss.lower, key.key.lexicographicallyPrecedes(lower) { return false }
        return loss.upper.map { key.key.lexicographicallyPrecedes($0) } ?? true
      }
    }
  }

  /// Whether the state that is delivered may be older than the newest.
  var isOlder: Bool { losses.contains { $0.kind == .log || $0.kind == .metaPage } || source.basis == .pages }

  /// What is wrong with this as what `database` gives with the pages `damaged` gone.
  ///
  /// - Parameter isLogWhole: whether log and newest meta page are as they were.
  func problems(_ database: SalvageDatabase, damaged: Set<UInt64>, isLogWhole: Bool = true) -> [String] {
    var problems = misplaced.map { "\($0) is out of order" }
    for (key, entry) in entries {
      let truth = database.content[key]
      if database.history[key]?.contains(entry.value) != true { problems.append("\(key) never had its value") }
      if entry.standing == .unverified { problems.append("\(key) is not proven") }
      // Below a lost branch, a page that a lost write has left as it was cannot be told; the range is reported.
      if entry.standing == .current, entry.value != truth, !isOlder, !isCovered(key) {
        problems.append("\(key) is old and not marked")
      }
    }
    for (key, value) in database.content {
      let found = entries[key]
      if found?.standing == .current, found?.value == value { continue }
      if !isCovered(key) { problems.append("\(key) is lost and no loss says so") }
      if isLogWhole, mustBeFound(key, database, damaged) { problems.append("\(key) is intact and not found") }
    }
    return problems
  }

  /// Whether all is there that an entry stands on.
  private func mustBeFound(_ key: Key, _ database: SalvageDatabase, _ damaged: Set<UInt64>) -> Bool {
    if database.logged.contains(key) { return true }
    guard let footing = database.footings[key], footing.own.isDisjoint(with: damaged) else { return false }
    // With the free map, nothing needs to lead to a leaf.
    if database.freeMapPages.isDisjoint(with: damaged) { return true }
    return footing.above.isDisjoint(with: damaged) && database.catalogPages.isDisjoint(with: damaged)
  }
}
