// Registering: building in steps, stopping, resuming, rebuilding, unregistering.

import QuireDatabase
import QuireTesting
import Testing

@Suite struct RegistrationTests {
  private struct Stop: Error {}

  private func fill(_ db: Database, _ count: Int = 5000, _ name: String = "t") throws {
    try db.write { tx throws in
      for number in 0..<count {
        try tx[.texts(name)].set("\(UnicodeScalar(UInt8(97 + number % 26)))\(number)", for: "k\(number)")
      }
    }
  }

  private func check(_ db: Database, _ index: ValueIndex<String, String>, _ names: [String] = ["t", "u"]) throws {
    try db.read { tx throws in
      let reader = try tx.access(to: index)
      let expected = try db.expected(index, names, tx)
      #expect(try reader.all() == expected)
      #expect(try reader.entries.count == expected.count)
    }
  }

  @Test(arguments: [true, false]) func rowsThatAreThereAreTakenIn(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    try fill(db)
    var index = letterIndex()
    index.isPersistent = isPersistent
    var fractions: [Double] = []
    try db.register(index) { progress in
      fractions.append(progress.fraction)
      #expect(progress.total == 5000)
      let code = errorCode { try db.read { tx in _ = try tx.access(to: index) } }
      #expect(code == (progress.done < 5000 ? .extensionNotReady : nil))
    }
    #expect(fractions.count > 2 && fractions == fractions.sorted() && fractions.last == 1)
    try check(db, index)
  }

  /// Rows change between the steps: those that were taken in and those that were not.
  @Test(arguments: [true, false]) func writersGoOnMeanwhile(_ isPersistent: Bool) throws {
    var options = Database.Options()
    options.buildStepRowCount = TestSize.trials(options.buildStepRowCount, divisor: 4)
    let db = try Database.inMemory(options: options)
    let count = TestSize.trials(9000, divisor: 4)
    try fill(db, count)
    var index = letterIndex()
    index.isPersistent = isPersistent
    var random = SeededRandom(seed: 5)
    var steps = 0
    try db.register(index) { _ in
      steps += 1
      try db.write { tx throws in
        for _ in 0..<300 {
          let key = "k\(random.below(count + 500))"
          switch random.below(4) {
          case 0: try tx[.texts("t")].remove(key)
          case 1: try tx[.texts("u")].set("new \(random.below(30))", for: key)
          case 2: try tx[.texts("t")].replace("z\(random.below(30))", for: key)
          default: try tx[.texts("t")].set("y\(random.below(30))", for: key)
          }
        }
        if steps == 2 { try tx[.texts("u")].removeAll() }
      }
    }
    #expect(steps >= 4)
    try check(db, index)
  }

  @Test func clearingEverythingMeanwhileIsNoticed() throws {
    let db = try Database.inMemory()
    try fill(db, 6000)
    let index = letterIndex()
    var steps = 0
    try db.register(index) { _ in
      steps += 1
      if steps == 1 {
        try db.write { tx throws in
          try tx.removeAll()
          try tx[.texts("u")].set("new", for: "k")
        }
      }
    }
    try check(db, index)
    #expect(try db.read { tx in try tx.access(to: index).all().count } == 1)
  }

  @Test func theSameVersionCostsNothing() throws {
    let folder = try TestFolder()
    let index = letterIndex()
    var db = try folder.open()
    try fill(db)
    try db.register(index)
    try db.close()
    db = try folder.open()
    let commits = db.statistics.commits
    var steps = 0
    try db.register(index) { _ in steps += 1 }
    #expect(steps == 0 && db.statistics.commits == commits)
    try check(db, index)
    try db.close()
    // A reader that must not write finds it ready, and refuses what would have to be built.
    let reader = try folder.open(Database.Options(isReadOnly: true))
    try reader.register(index)
    try check(reader, index)
    #expect(errorCode { try reader.register(letterIndex("new")) } == .readOnly)
    try reader.close()
  }

  @Test func anotherVersionIsBuiltAnew() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try fill(db)
    try db.register(letterIndex())
    try db.close()
    db = try folder.open()
    var other = ValueIndex<String, String>("letters", { .texts($0) }) { object, _ in String(object.suffix(1)) }
    other.version = "2"
    try db.register(other)
    try check(db, other)
    #expect(try db.extensions().map(\.version) == ["2"])
    try db.close()
    // Another kind under the name.
    db = try folder.open()
    try db.register(Hooks("letters"))
    #expect(try db.extensions().map(\.isPersistent) == [false])
    try db.close()
    db = try folder.open()
    #expect(try db.extensions().isEmpty)
    try db.verify()
    try db.close()
  }

  /// Rows that change while an extension is not registered make it stale (hazard D7).
  @Test(arguments: [true, false]) func whatMissedAChangeIsBuiltAnew(_ changesRows: Bool) throws {
    let folder = try TestFolder()
    let index = letterIndex()
    var db = try folder.open()
    try fill(db, TestSize.trials(5000, divisor: 4))
    try db.register(index)
    try db.close()
    db = try folder.open()
    // Reading, touching and other extensions do no harm.
    try db.write { tx throws in try tx[.texts("t")].touch("k1") }
    try db.register(letterIndex("other"))
    #expect(try db.extensions().map(\.state) == [.ready, .ready])
    if changesRows { try db.write { tx throws in try tx[.texts("t")].set("x", for: "k1") } }
    #expect(try db.extensions().map(\.state) == [.ready, changesRows ? .stale : .ready])
    try db.close()
    db = try folder.open()
    #expect(try db.extensions().map(\.isRegistered) == [false, false])
    var steps = 0
    try db.register(index) { _ in steps += 1 }
    #expect((steps > 0) == changesRows)
    try check(db, index)
    try db.close()
  }

  @Test func stoppedBuildingGoesOnWhereItWas() throws {
    let folder = try TestFolder()
    let index = letterIndex()
    var db = try folder.open()
    try fill(db, 9000)
    var done = 0
    #expect(throws: Stop.self) {
      try db.register(index) { progress in
        done = progress.done
        if progress.fraction > 0.4 { throw Stop() }
      }
    }
    #expect(errorCode { try db.read { tx in _ = try tx.access(to: index) } } == .extensionNotRegistered)
    #expect(try db.extensions().map(\.state) == [.building])
    try db.close()
    db = try folder.open()
    var first = 0
    try db.register(index) { progress in if first == 0 { first = progress.done } }
    #expect(first > done)
    try check(db, index)
    try db.close()
  }

  @Test func stoppedBuildingBeginsAnewIfRowsHaveChanged() throws {
    let db = try Database.inMemory()
    let index = letterIndex()
    try fill(db, 9000)
    #expect(throws: Stop.self) { try db.register(index) { _ in throw Stop() } }
    try db.write { tx throws in try tx[.texts("t")].set("zzz", for: "k1") }
    #expect(try db.extensions().map(\.state) == [.stale])
    var first = 0
    try db.register(index) { progress in if first == 0 { first = progress.done } }
    #expect(first < 4000)
    try check(db, index)
  }

  @Test func anExtensionThatFailsLeavesNothing() throws {
    let db = try Database.inMemory()
    try fill(db, 5000)
    var index = letterIndex()
    index.make = { object, _ in
      if object == "a4992" { throw Stop() }
      return object
    }
    do {
      try db.register(index)
      Issue.record("nothing was thrown")
    } catch let error as DatabaseError {
      #expect(error.code == .extensionFailed && error.cause is Stop && error.key == "k4992")
    }
    #expect(try db.extensions().isEmpty)
    try db.write { tx throws in try tx[.texts("t")].set("works", for: "k4992") }
    try db.register(index)
    try check(db, index)
  }

  @Test func aTaskThatIsCancelledStops() async throws {
    let db = try Database.inMemory()
    try synchronously { try fill(db, TestSize.trials(20_000, divisor: 4)) }
    let task = Task {
      try await db.register(letterIndex()) { _ in
        withUnsafeCurrentTask { $0?.cancel() }
        if Task.isCancelled { throw CancellationError() }
      }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await db.register(letterIndex())
    try synchronously { try check(db, letterIndex()) }
    #expect(try await db.unregister(extensionNamed: "letters") == ["letters"])
  }

  @Test func whileItIsRegisteredNobodyElseCan() throws {
    let db = try Database.inMemory()
    try fill(db, 5000)
    var codes: Set<DatabaseError.Code> = []
    try db.register(letterIndex()) { _ in
      if let code = errorCode({ try db.register(letterIndex()) }) { codes.insert(code) }
      if let code = errorCode({ try db.unregister(extensionNamed: "letters") }) { codes.insert(code) }
    }
    #expect(codes == [.extensionExists])
  }

  @Test func dependentsGoAndComeWithTheirParents() throws {
    let folder = try TestFolder()
    var child = letterIndex("child")
    child.dependencies = ["parent"]
    var grandchild = letterIndex("grandchild")
    grandchild.dependencies = ["child"]
    var memory = letterIndex("memory")
    memory.isPersistent = false
    var impossible = letterIndex("impossible")
    impossible.dependencies = ["memory"]
    var db = try folder.open()
    try fill(db, 100)
    #expect(errorCode { try db.register(child) } == .missingDependency)
    try db.register(letterIndex("parent"))
    try db.register(child)
    try db.register(grandchild)
    try db.register(memory)
    #expect(errorCode { try db.register(impossible) } == .missingDependency)
    #expect(try db.extensions().map(\.name) == ["parent", "child", "grandchild", "memory"])
    try db.close()
    // A parent that is built anew has its descendants built anew.
    db = try folder.open()
    try db.register(letterIndex("parent", version: "2"))
    #expect(try db.extensions().map(\.state) == [.ready, .stale, .stale])
    try db.register(child)
    #expect(try db.unregister(extensionNamed: "parent").sorted() == ["child", "grandchild", "parent"])
    #expect(try db.extensions().isEmpty)
    #expect(errorCode { try db.read { tx in _ = try tx.access(to: child) } } == .extensionNotRegistered)
    try fill(db, 10)
    try db.verify()
    try db.close()
  }

  @Test func unregisteringWorksWithoutTheCode() throws {
    let folder = try TestFolder()
    var db = try folder.open()
    try fill(db)
    try db.register(letterIndex())
    try db.close()
    db = try folder.open()
    #expect(try db.unregister(extensionNamed: "letters") == ["letters"])
    #expect(try db.extensions().isEmpty)
    try db.register(letterIndex())
    try check(db, letterIndex())
    try db.close()
  }

  private func synchronously(_ body: () throws -> Void) throws { try body() }
}
