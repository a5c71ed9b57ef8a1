// Labels that run out of room, names that look the same, and filters that fail in the middle.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

@Suite struct ViewOrderTests {
  private struct Refused: Error {}

  /// Rows that all go to the same place of a list have it labelled anew now and then, and filtered views of it.
  @Test(.enabled(if: TestSize.hasSlowTests, "slow"), arguments: [true, false])
  func labelsAreRenewed(_ isPersistent: Bool) throws {
    let db = try Database.inMemory()
    let list = ManualView<Int, String>("list", over: [.numbers], isPersistent: isPersistent)
    let even = FilteredView("even", of: list, isPersistent: isPersistent, filter: .byObject { $0 % 2 == 0 })
    try db.register(list)
    try db.register(even)
    var expected: [Int] = []
    let partCount = TestSize.trials(500, divisor: 3)
    for start in stride(from: 0, to: 6 * partCount, by: partCount) {
      try db.write { tx throws in
        let writer = try tx.access(to: list)
        for number in start..<start + partCount {
          try tx[.numbers].set(number, for: "k\(number)")
          let index = min(expected.count, number % 3 == 0 ? 1 : expected.count / 2)
          try writer.insert("k\(number)", at: index, in: "")
          expected.insert(number, at: index)
        }
      }
      try db.read { tx throws in
        #expect(try tx.view(list).numbers() == expected)
        #expect(try tx.view(even).numbers() == expected.filter { $0 % 2 == 0 })
        try tx.view(list).trees.checkInvariants()
        try tx.view(even).trees.checkInvariants()
      }
    }
  }

  /// Names are the same if their bytes are: an é of one scalar is not one of two.
  @Test func namesOfGroupsAreBytes() throws {
    let db = try Database.inMemory()
    let names = ["\u{e9}", "e\u{301}"]
    let order = AutoView<Int, String>(
      "order", over: [.numbers], grouping: .byObject { names[$0 % 2] }, sorting: .byObject { $0 })
    try db.register(order)
    try db.write { tx throws in for number in 0..<6 { try tx[.numbers].set(number, for: "k\(number)") } }
    try db.read { tx throws in
      let view = try tx.view(order)
      #expect(view.groupCount == 2)
      #expect(try view.numbers(names[0]) == [0, 2, 4] && view.numbers(names[1]) == [1, 3, 5])
    }
    try db.write { tx throws in
      let writer = try tx.access(to: order)
      _ = try writer.setGrouping(.byObject { names[($0 + 1) % 2] }, version: "2")
      #expect(try writer.reader.numbers(names[0]) == [1, 3, 5] && writer.reader.numbers(names[1]) == [0, 2, 4])
    }
  }

  /// A filter that fails while its parent changes fails the transaction, even if the app goes on: otherwise the two
  /// views would not fit any more.
  @Test func aFilterThatFailsEndsTheTransaction() throws {
    let db = try Database.inMemory()
    let list = ManualView<Int, String>("list", over: .numbers)
    let some = FilteredView("some", of: list, filter: .byObject { if $0 == 1 { throw Refused() } else { true } })
    try db.register(list)
    try db.register(some)
    try db.write { tx throws in for number in 0..<3 { try tx[.numbers].set(number, for: "k\(number)") } }
    #expect(throws: (any Error).self) {
      try db.write { tx throws in
        let writer = try tx.access(to: list)
        try writer.append("k0", to: "")
        try? writer.append("k1", to: "")
      }
    }
    // A savepoint takes the failure back with all that led to it.
    try db.write { tx throws in
      let writer = try tx.access(to: list)
      try writer.append("k2", to: "")
      try? tx.savepoint { try writer.append("k1", to: "") }
      try writer.append("k0", to: "")
    }
    try db.read { tx throws in
      #expect(try tx.view(list).numbers() == [2, 0] && tx.view(some).numbers() == [2, 0])
    }
  }

  /// Where a changed row belongs is a matter of the other rows, wherever it stood and wherever it goes.
  @Test func aChangedRowFindsItsPlaceAmongTheOthers() throws {
    let db = try Database.inMemory()
    let order = AutoView<Int, String>("order", over: [.numbers], grouping: .all(), sorting: .byObject { $0 < $1 })
    try db.register(order)
    let numbers = [10, 20, 30, 40, 50]
    try db.write { tx throws in for number in numbers { try tx[.numbers].set(number, for: "k\(number)") } }
    for number in numbers {
      for other in stride(from: 5, through: 55, by: 10) {
        try db.write { tx throws in try tx[.numbers].set(other, for: "k\(number)") }
        let expected = (numbers.filter { $0 != number } + [other]).sorted()
        #expect(try db.read { tx in try tx.view(order).numbers() } == expected, "\(number) becomes \(other)")
        try db.write { tx throws in try tx[.numbers].set(number, for: "k\(number)") }
        #expect(try db.read { tx in try tx.view(order).numbers() } == numbers, "\(other) becomes \(number)")
      }
    }
  }
}
