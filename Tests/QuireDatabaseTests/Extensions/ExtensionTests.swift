// Extensions in transactions: trees, snapshots, savepoints, changes, errors.

import QuireDatabase
import QuireTesting
import Testing

/// An index of texts by their first letter; nothing for those that begin with “-”.
func letterIndex(_ name: String = "letters", version: String = "1") -> ValueIndex<String, String> {
  var index = ValueIndex<String, String>(name, { .texts($0) }) { object, _ in
    object.hasPrefix("-") ? nil : String(object.prefix(1))
  }
  index.version = version
  return index
}

@Suite struct ExtensionTests {
  private func check(_ tx: WriteTransaction, _ index: ValueIndex<String, String>, _ values: [String]) throws {
    let found = try tx.access(to: index).reader.all().values.sorted()
    #expect(found == values)
  }

  @Test(arguments: [true, false]) func treesFollowRowsAndSnapshots(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    var index = letterIndex()
    index.isPersistent = isPersistent
    try db.write { tx throws in try tx[.texts("t")].set("apple", for: "1") }
    try db.register(index)
    let before = try db.pin()
    try db.write { tx throws in
      try tx[.texts("t")].set("avocado", for: "2")
      try tx[.texts("u")].set("banana", for: "3")
      let writer = try tx.access(to: index)
      #expect(try writer.reader.rows("a").count == 2)
      try tx[.texts("t")].set("cherry", for: "1")
      #expect(try writer.reader.rows("a").count == 1)
    }
    let after = try db.pin()
    try db.write { tx throws in try tx.removeAll() }
    #expect(try before.read { tx in try tx.access(to: index).all().values.sorted() } == ["a"])
    #expect(try after.read { tx in try tx.access(to: index).all().values.sorted() } == ["a", "b", "c"])
    #expect(try db.read { tx in try tx.access(to: index).all().count } == 0)
    #expect(try db.read { tx in try tx.access(to: index).entries.count } == 0)
    try db.checkInvariants()
  }

  @Test(arguments: [true, false]) func savepointsAndRollbacksTakeExtensionsAlong(_ isPersistent: Bool) throws {
    struct Undo: Error {}
    let db = try Database.inMemory()
    var index = letterIndex()
    index.isPersistent = isPersistent
    try db.register(index)
    let stream = try db.pin()
    try db.write { tx throws in
      try tx[.texts("t")].set("apple", for: "1")
      do {
        try tx.savepoint {
          try tx[.texts("t")].set("banana", for: "1")
          try tx[.texts("t")].set("cherry", for: "2")
          try self.check(tx, index, ["b", "c"])
          throw Undo()
        }
      } catch is Undo {}
      try check(tx, index, ["a"])
      // A savepoint before anything else was asked of the extension.
      try tx.savepoint { try tx[.texts("t")].set("date", for: "3") }
    }
    do {
      try db.write { tx throws in
        try tx[.texts("t")].set("elder", for: "4")
        throw Undo()
      }
    } catch is Undo {}
    #expect(try db.read { tx in try tx.access(to: index).all().values.sorted() } == ["a", "d"])
    let commits = try stream.advance()
    #expect(commits.map { $0.changes(of: index)?.rows.count } == [2])
  }

  @Test(arguments: [true, false]) func treesAreWalkedFromSpanToSpan(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    var index = ValueIndex<String, String>("words", { .texts($0) }) { object, _ in object }
    index.isPersistent = isPersistent
    try db.register(index)
    var random = SeededRandom(seed: 5)
    func check(_ entries: ExtensionTree<[UInt8]>, _ words: [String]) throws {
      for _ in 0..<20 {
        let wanted = Set((0..<1 + random.below(300)).map { _ in "w\(random.below(3000))" })
        var spans = ByteSpans()
        for word in wanted.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
          let point = [UInt8](word.utf8) + [0]
          if random.oneIn(2) {
            spans.append(lower: point, upper: point.dropLast() + [1])
          } else {
            spans.append(point: point.span.bytes)
          }
        }
        if random.oneIn(2) { spans.append(lower: [UInt8]("x".utf8), upper: nil) }
        let isMeant = { (word: String) in wanted.contains(word) || spans.upper(spans.count - 1) == nil && word >= "x" }
        let expected = words.filter(isMeant).sorted()
        var found: [String] = []
        try entries.forEachKey(in: spans) { key in
          let word = key.withUnsafeBytes { $0.prefix { $0 != 0 } }
          found.append(String(decoding: word, as: UTF8.self))
          return true
        }
        #expect(found.sorted() == expected)
        #expect(try entries.count(in: spans) == expected.count)
        var first = 0
        try entries.forEachKey(in: spans) { _ in
          first += 1
          return first < 3
        }
        #expect(first == min(3, expected.count))
      }
    }
    let words = (0..<2000).map { number in number % 100 == 0 ? "x\(number)" : "w\(number % 700)" }
    #expect(try db.read { tx in try tx.access(to: index).entries.count(in: ByteSpans()) } == 0)
    try db.write { tx throws in
      for (number, word) in words.enumerated() { try tx[.texts("t")].set(word, for: "\(number)") }
      try check(tx.access(to: index).reader.entries, words)
    }
    try db.read { tx in try check(tx.access(to: index).entries, words) }
  }

  /// A cursor stays where it is while its entry is lent; others move, and it moves on afterwards.
  @Test(arguments: [true, false]) func aCursorWhoseEntryIsLentStays(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    var index = ValueIndex<String, String>("words", { .texts($0) }) { object, _ in object }
    index.isPersistent = isPersistent
    try db.register(index)
    try db.write { tx throws in
      for word in ["a", "b", "c"] { try tx[.texts("t")].set(word, for: word) }
    }
    func check(_ entries: ExtensionTree<[UInt8]>) throws {
      let (cursor, other) = (try entries.cursor(), try entries.cursor())
      #expect(try cursor.next())
      let steps: [() throws -> Bool] = [
        cursor.next, cursor.previous, cursor.seekFirst, cursor.seekLast, { try cursor.seek([]) },
        { try cursor.seek(toIndex: 1) },
      ]
      for step in steps {
        let first = try cursor.withEntry { key, _ throws in
          #expect(errorCode { _ = try step() } == .mutatedDuringIteration)
          #expect(try cursor.withEntry { inner, _ throws in inner.byteCount } == key.byteCount)
          #expect(errorCode { _ = try cursor.next() } == .mutatedDuringIteration, "an entry was lent twice")
          #expect(try other.seekLast() && other.key?.first == 0x63)
          return key.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
        }
        #expect(first == 0x61)
      }
      #expect(throws: CancellationError.self) { try cursor.withEntry { _, _ in throw CancellationError() } }
      #expect(try cursor.next() && cursor.key?.first == 0x62)
    }
    try db.write { tx throws in try check(tx.access(to: index).reader.entries) }
    try db.read { tx throws in try check(tx.access(to: index).entries) }
  }

  @Test func changesReachTheCommit() throws {
    let db = try Database.inMemory()
    let index = letterIndex()
    try db.register(index)
    let pin = try db.pin()
    try db.write { tx throws in try tx[.texts("t")].set("apple", for: "1") }
    try db.write { tx throws in try tx[.texts("t")].set("avocado", for: "1") }
    try db.write { tx throws in try tx.removeAll() }
    let commits = try pin.advance()
    #expect(commits.count == 3)
    #expect(commits[0].changes(of: index)?.rows.count == 1)
    #expect(commits[1].changes(of: index) == nil)
    #expect(commits[2].changes(of: index)?.isCleared == true)
    #expect(commits[2].changes(ofExtensionNamed: "another") == nil)
  }

  @Test func anExtensionHearsOfWhatItCaresFor() throws {
    let db = try Database.inMemory()
    var index = letterIndex()
    index.collections = .except(["skipped"])
    try db.register(index)
    var keysOnly = ValueIndex<String, String>("keys", { .texts($0) }) { object, _ in object }
    keysOnly.halves = []
    try db.register(keysOnly)
    try db.write { tx throws in
      try tx[.texts("skipped")].set("apple", for: "1")
      try tx[.texts("t")].set("apple", for: "1")
      try tx[.texts("t")].set("banana", for: "1")
      try tx[.texts("t")].replace("cherry", for: "1")
    }
    try db.read { tx throws in
      #expect(try tx.access(to: index).all().values.sorted() == ["c"])
      // It was not told of changes of the object.
      #expect(try tx.access(to: keysOnly).all().values.sorted() == ["apple", "apple"])
    }
  }

  @Test(arguments: [true, false]) func clearingACollectionTellsOfItsRows(_ handlesClearing: Bool) throws {
    let db = try Database.inMemory()
    var index = letterIndex()
    index.handlesClearing = handlesClearing
    try db.register(index)
    let count = 3 * Limits.removalBatchCount + 1
    try db.write { tx throws in
      for number in 0..<count { try tx[.texts("t")].set("x\(number)", for: "k\(number)") }
      try tx[.texts("u")].set("y", for: "k")
    }
    let pin = try db.pin()
    try db.write { tx throws in #expect(try tx[.texts("t")].removeAll() == count) }
    // This one does not do what it says, so that nothing is taken out.
    #expect(try db.read { tx in try tx.access(to: index).all().count } == (handlesClearing ? count + 1 : 1))
    let commit = try #require(try pin.advance().first)
    #expect(commit.changes.didClear(.texts("t")) && commit.changes.changedKeys(in: .texts("t")).isEmpty)
    try db.checkInvariants()
    try db.write { tx throws in
      try tx[.texts("t")].set("z", for: "new")
      #expect(try tx[.texts("t")].remove((0..<count).map { "k\($0)" } + ["new", "new"]) == 1)
    }
  }

  @Test func whatAHookInsertsWhileACollectionIsClearedStays() throws {
    let db = try Database.inMemory()
    var hooks = Hooks("hooks")
    hooks.didRemove = { tx, change throws in
      if change.key.hasPrefix("k") { try tx[.texts("t")].set("left", for: "z" + change.key) }
    }
    try db.register(hooks)
    try db.write { tx throws in for number in 0..<700 { try tx[.texts("t")].set("x", for: "k\(number)") } }
    let pin = try db.pin()
    try db.write { tx throws in #expect(try tx[.texts("t")].removeAll() == 700) }
    #expect(try db.read { tx in tx[.texts("t")].keys.filter { $0.hasPrefix("zk") }.count } == 700)
    #expect(try db.read { tx in tx[.texts("t")].count } == 700)
    let commit = try #require(try pin.advance().first)
    #expect(commit.changes.didClear(.texts("t")))
    #expect(commit.changes.insertedKeys(in: .texts("t")).count == 700)
    try db.checkInvariants()
  }

  @Test func valuesAreTypedStoredAndScoped() throws {
    let folder = try TestFolder()
    let index = letterIndex()
    var db = try folder.open()
    try db.register(index)
    try db.write { tx throws in
      let store = try tx.access(to: index).store
      try store.set(true, for: "bool")
      try store.set(-7, for: "int")
      try store.set(2.5, for: "double")
      try store.set("text", for: "string")
      try store.set([1, 2] as [UInt8], for: "bytes")
      try store.set("passing", for: "memory", persistent: false)
      #expect(try store.value("int") == -7)
      #expect(try store.value("int", as: String.self) == nil)
      try store.set(1, for: "gone")
      try store.set(Int?.none, for: "gone")
    }
    func check(_ isReopened: Bool) throws {
      try db.write { tx throws in
        let store = try tx.access(to: index).store
        #expect(try store.value("bool") == true)
        #expect(try store.value("int") == -7)
        #expect(try store.value("double") == 2.5)
        #expect(try store.value("string") == "text")
        #expect(try store.value("bytes") == [1, 2] as [UInt8])
        #expect(try store.value("gone", as: Int.self) == nil)
        let passing: String? = try store.value("memory", persistent: false)
        #expect(passing == (isReopened ? nil : "passing"))
      }
    }
    try check(false)
    try db.close()
    db = try folder.open()
    try db.register(index)
    try check(true)
    try db.close()
  }

  @Test func misuseIsToldClearly() throws {
    let db = try Database.inMemory()
    let index = letterIndex()
    #expect(errorCode { try db.read { tx in _ = try tx.access(to: index) } } == .extensionNotRegistered)
    let old = try db.pin()
    try db.write { tx throws in try tx[.texts("t")].set("apple", for: "1") }
    try db.register(index)
    #expect(errorCode { try old.read { tx in _ = try tx.access(to: index) } } == .extensionNotReady)
    #expect(errorCode { try db.read { tx in _ = try tx.access(to: Hooks("letters")) } } == .extensionMismatch)
    #expect(errorCode { try db.write { tx in _ = try tx.access(to: Hooks("letters")) } } == .extensionMismatch)
    #expect(errorCode { try db.register(index) } == .extensionExists)
    #expect(errorCode { try db.register(letterIndex("")) } == .invalidOption)
    #expect(errorCode { try db.register(letterIndex(String(repeating: "x", count: 600))) } == .invalidOption)
    #expect(errorCode { try db.unregister(extensionNamed: "none") } == .extensionNotRegistered)
    #expect(errorCode { try db.write { _ in try db.register(letterIndex("inside")) } } == .nestedTransaction)
    var kept: ValueIndex<String, String>.Reader?
    try db.read { tx in kept = try tx.access(to: index) }
    #expect(errorCode { _ = try kept?.all() } == .transactionClosed)
    var cursor: ExtensionCursor<RowID>?
    try db.read { tx throws in
      cursor = try tx.access(to: index).values.cursor()
      #expect(try cursor?.next() == true && cursor?.isOnEntry == true && cursor?.key != nil)
    }
    #expect(cursor?.key == nil && cursor?.isOnEntry == false)
    #expect(errorCode { _ = try cursor?.value } == .transactionClosed)
    #expect(errorCode { _ = try cursor?.entry } == .transactionClosed)
    #expect(errorCode { _ = try cursor?.rowID } == .transactionClosed)
    #expect(
      errorCode { try db.read { tx in try tx.access(to: index).values.put([], for: RowID(1)) } } == .readOnly)
    #expect(
      errorCode {
        try db.write { tx in _ = try tx.access(to: index).store.tree("values", of: [UInt8].self) }
      } == .extensionFailed)
  }

  @Test func anyTextIsAName() throws {
    let folder = try TestFolder()
    // Two spellings of one letter, among others.
    let names = ["\u{e9}", "e\u{301}", "a.b/c\0d", "r", "\u{10ffff}"]
    var db = try folder.open()
    for name in names { try db.register(letterIndex(name)) }
    try db.write { tx throws in try tx[.texts("t")].set("apple", for: "1") }
    try db.close()
    db = try folder.open()
    for name in names { try db.register(letterIndex(name)) }
    #expect(try db.extensions().map(\.name.utf8.count) == names.map(\.utf8.count))
    #expect(try db.unregister(extensionNamed: "\u{e9}") == ["\u{e9}"])
    for name in names.dropFirst() {
      #expect(try db.read { tx in try tx.access(to: letterIndex(name)).all().count } == 1)
    }
    try db.verify()
    try db.close()
  }
}
