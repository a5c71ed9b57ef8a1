// How a change log is put in order.

import Testing

@testable import QuireDatabase

@Suite struct ChangeIndexTests {
  /// Counts how often the buffer of a dictionary has been replaced by another one.
  private struct Moves {
    private var last: UInt?
    private(set) var count = 0

    mutating func note<Key, Value>(_ dictionary: borrowing [Key: Value]) {
      // A dictionary is one word: a reference to its buffer.
      let address = unsafe unsafeBitCast(copy dictionary, to: UInt.self)
      if let last, last != address { count += 1 }
      last = address
    }
  }

  // A dictionary that is changed while somebody else refers to its buffer gets another one, with a copy of all entries.
  // One that nobody else refers to gets another one only when it has to grow, which is seldom.
  @Test func anEntryCopiesNoOther() {
    let count = 5000
    var builder = ChangeIndexBuilder([CollectionID(1): "a", CollectionID(2): "b"])
    var (collections, rows) = (Moves(), Moves())
    for number in 0..<count {
      builder.note(.row(.inserted, CollectionID(UInt32(1 + number % 2)), RowID(Int64(number)), "key\(number)"))
      collections.note(builder.collections)
      if number % 2 == 0, let first = builder.collections[ByteString("a")] { rows.note(first.rows) }
    }
    #expect(collections.count <= 4)
    #expect(rows.count <= 20, "the rows of a collection have moved \(rows.count) times for \(count) entries")
    let index = builder.finish()
    #expect(index.collections[ByteString("a")]?.rows.count == count / 2)
    #expect(index.collections[ByteString("b")]?.rows.count == count / 2)
  }

  @Test func rowsThatWentWithTheirCollectionAreNotToldOf() {
    var builder = ChangeIndexBuilder([CollectionID(1): "a", CollectionID(2): "b"])
    for id in [CollectionID(1), CollectionID(2)] { builder.note(.row(.inserted, id, RowID(1), "before")) }
    builder.note(.cleared(CollectionID(1)))
    builder.note(.row(.inserted, CollectionID(1), RowID(2), "after"))
    let index = builder.finish()
    let cleared = index.collections[ByteString("a")]
    #expect(cleared?.isCleared == true && cleared.map { Array($0.rows.keys) } == [ByteString("after")])
    #expect(index.collections[ByteString("b")]?.isCleared == false)
    #expect(index.collections[ByteString("b")]?.rows.count == 1)
  }
}
