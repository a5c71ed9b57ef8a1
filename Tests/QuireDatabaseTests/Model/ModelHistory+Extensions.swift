// Extensions in a random life: registered, stopped half-way, forgotten at a reopening, rebuilt, unregistered.

import QuireDatabase
import QuireTesting

extension ModelHistory {
  private struct Stop: Error {}

  private static let extensionNames = ["stored", "memory", "songs", "child"]

  /// One of the extensions, in the version that is current.
  private func makeIndex(_ name: String) -> ValueIndex<Bag, Int> {
    let version = versions[name, default: 0]
    var index = ValueIndex<Bag, Int>(name, { .bags($0) }) { object, metadata in
      if object.text?.hasPrefix("la") == true { return nil }
      return "\(version)/\(object.numbers[version % 3] ?? -1)/\(metadata ?? -1)"
    }
    index.version = "\(version)"
    index.isPersistent = name != "memory"
    if name == "songs" { index.collections = .only(["songs", "albums"]) }
    if name == "child" { index.dependencies = ["stored"] }
    return index
  }

  /// Registers or unregisters something.
  func extend() throws {
    let name = Self.extensionNames[random.below(Self.extensionNames.count)]
    if registered[name] != nil {
      guard random.oneIn(3) else { return }
      count("unregister")
      let gone = try db.unregister(extensionNamed: name)
      try expect(gone.contains(name), "\(gone) were unregistered, and \(name) was not")
      for name in gone { registered[name] = nil }
      if name == "stored" { try expect(registered["child"] == nil, "the child has outlived its parent") }
      return
    }
    if random.oneIn(4) { versions[name, default: 0] += 1 }
    try register(name)
  }

  /// After an opening: registers most of what there was, or leaves it alone, to become stale.
  func registerSome() throws {
    for name in Self.extensionNames where random.below(4) > 0 { try register(name) }
  }

  private func register(_ name: String) throws {
    let before = try db.extensions().first { $0.name == name }
    if before?.state == .stale { count("stale") }
    count(before == nil ? "register" : "register again")
    if name == "child", registered["stored"] == nil {
      do { try db.register(makeIndex(name)) } catch let error as DatabaseError where error.code == .missingDependency {
        return
      }
      throw ModelMismatch(description: "a child was registered without its parent (seed \(seed))")
    }
    var isStopped = false
    do {
      try db.register(makeIndex(name)) { progress in
        if random.oneIn(12), progress.fraction < 1 {
          isStopped = true
          throw Stop()
        }
        // Between steps others write.
        if random.oneIn(3) { try transact() }
      }
    } catch is Stop {
      count("register stopped")
      return
    }
    try expect(!isStopped, "a registration that was stopped has returned")
    registered[name] = makeIndex(name)
    try check(newest, in: db)
  }

  /// Compares what each extension says with what it should say of the model.
  func checkExtensions(_ state: ModelState, _ tx: ReadTransaction) throws {
    for (name, index) in registered {
      let reader: ValueIndex<Bag, Int>.Reader
      do { reader = try tx.access(to: index) } catch {
        guard error.code == .extensionNotReady else { throw error }
        // A snapshot that is older than the extension.
        count("not ready")
        continue
      }
      var expected: [RowID: String] = [:]
      for (collection, rows) in state.collections where index.collections.contains(collection) {
        for row in rows.values { expected[row.rowID] = try index.make(row.object, row.metadata) }
      }
      let found = try reader.all()
      try expect(found == expected, "the extension \(name) has \(found.count) entries, not \(expected.count)")
      try expect(try reader.entries.count == expected.count, "the trees of \(name) differ")
      if let value = expected.values.first {
        let rows = expected.filter { $0.value == value }.keys.sorted()
        try expect(try reader.rows(value) == rows, "\(name) finds other rows by \(value)")
      }
    }
  }
}
