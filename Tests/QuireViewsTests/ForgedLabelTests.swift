// Labels from a file that anybody may have written, with checksums that are right: no place is looked for without end.

import Foundation
import QuireDatabase
import Testing

@testable import QuireViews

@Suite("Forged labels of views") struct ForgedLabelTests {
  /// Two labels beside each other that are none, or are out of order.
  struct Forgery: CustomTestStringConvertible, Sendable {
    let low: [UInt8]
    let high: [UInt8]
    var testDescription: String { "\(low) in front of \(high)" }

    /// In the order of their bytes, as a tree has them.
    static let stored = [
      Forgery(low: [5], high: [5, 0]), Forgery(low: [], high: [5]), Forgery(low: [], high: [0]),
      Forgery(low: [5, 0], high: [5, 0, 0]), Forgery(low: [0], high: [7]),
    ]
    static let all = stored + [Forgery(low: [7], high: [5]), Forgery(low: [5], high: [5])]
  }

  // MARK: Labels alone

  @Test(arguments: Forgery.all) func noLabelIsBetweenThoseThatAreNone(_ forgery: Forgery) {
    expectEnd {
      #expect(OrderLabel.between(forgery.low, forgery.high) == nil)
      for count in [0, 1, 100] { #expect(OrderLabel.spread(count, between: forgery.low, forgery.high) == nil) }
    }
  }

  @Test func thereIsRoomBetweenAllOthers() {
    let labels: [[UInt8]?] = [nil, [1], [1, 0, 0, 1], [1, 1], [5], [5, 0, 1], [5, 255], [6], [255, 255, 255], nil]
    for (low, high) in zip(labels, labels.dropFirst()) {
      let found = [OrderLabel.between(low, high) ?? []] + (OrderLabel.spread(50, between: low, high) ?? [[]])
      #expect(found.allSatisfy { OrderLabel.areSound(low, $0) && OrderLabel.areSound($0, high) })
    }
  }

  // MARK: Views

  @Test(arguments: Forgery.stored) func noRowComesBetweenThemInAList(_ forgery: Forgery) throws {
    let db = try Database.inMemory()
    let list = ManualView<Int, String>("list", over: .numbers)
    try db.register(list)
    try db.write { tx throws in
      let writer = try tx.access(to: list)
      for number in [1, 3, 2] { try tx[.numbers].set(number, for: "k\(number)") }
      for number in [1, 3] { try writer.append("k\(number)", to: "") }
      try Self.forge(writer.storage, forgery)
    }
    expectEnd {
      expectDamage { try db.write { tx in try tx.access(to: list).insert("k2", at: 1, in: "") } }
    }
    try heal(db, list.name) { try db.register(list) }
  }

  @Test(arguments: Forgery.stored) func noRowComesBetweenThemInAnOrderByComparison(_ forgery: Forgery) throws {
    let db = try Database.inMemory()
    let order = AutoView<Int, String>(
      "order", over: [.numbers], grouping: .byObject { _ in "" }, sorting: .byObject { $0 < $1 })
    try db.register(order)
    try db.write { tx throws in
      for number in [1, 3] { try tx[.numbers].set(number, for: "k\(number)") }
      try Self.forge(try tx.access(to: order).storage, forgery)
    }
    expectEnd {
      expectDamage { try db.write { tx in try tx[.numbers].set(2, for: "k2") } }
      // All rows stay, and keep their labels.
      expectDamage {
        try db.write { tx in _ = try tx.access(to: order).setSorting(.byObject { $0 < $1 }, version: "2") }
      }
    }
    try heal(db, order.name) { try db.register(order) }
    try db.write { tx throws in try tx[.numbers].set(2, for: "k2") }
    #expect(try db.read { tx in try tx.view(order).numbers() } == [1, 2, 3])
  }

  // MARK: Helpers

  /// Gives the two rows of the one group other labels.
  private static func forge(_ storage: ViewStorage, _ forgery: Forgery) throws {
    let rows = try zip(storage.members(of: ""), [forgery.low, forgery.high]).map { member, label in
      ViewStorage.Relabelling(rowID: member.rowID, from: member.entry, order: label)
    }
    #expect(rows.count == 2)
    try storage.relabel(rows, "")
  }

  /// Does what the error advises.
  private func heal(_ db: Database, _ name: String, _ register: () throws -> Void) throws {
    try db.unregister(extensionNamed: name)
    try register()
  }

  private func expectDamage(at line: SourceLocation = #_sourceLocation, _ body: () throws -> Void) {
    do {
      try body()
      Issue.record("nothing is refused", sourceLocation: line)
    } catch {
      let error = error as? DatabaseError
      let found = error?.code == .extensionFailed ? error?.cause as? DatabaseError : error
      #expect(found?.code == .damagedRow, "\(found as Any)", sourceLocation: line)
      #expect(found?.message.contains("register it again") == true, sourceLocation: line)
    }
  }

  /// Runs `body` on another thread, and gives it up after a minute.
  private func expectEnd(at line: SourceLocation = #_sourceLocation, _ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Thread {
      body()
      done.signal()
    }.start()
    #expect(done.wait(timeout: .now() + .seconds(60)) == .success, "it does not end", sourceLocation: line)
  }
}
