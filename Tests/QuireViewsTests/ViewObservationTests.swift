// Reads of views that are repeated when the views have changed.

import Foundation
import QuireDatabase
import QuireTesting
import QuireViews
import Synchronization
import Testing

@Suite struct ViewObservationTests {
  typealias Numbers = AutoView<Int, String>

  private func order(isPersistent: Bool) -> Numbers {
    AutoView(
      "order", over: [.numbers], version: "1", isPersistent: isPersistent, grouping: .byObject { "\($0 % 3)" },
      sorting: .byObject { $0 })
  }

  private func even(_ order: Numbers, isPersistent: Bool) -> FilteredView<Numbers> {
    FilteredView("even", of: order, version: "1", isPersistent: isPersistent, filter: .byObject { $0 % 2 == 0 })
  }

  /// Something that a seed decides, and what is found there.
  private static func read(_ seed: UInt64, _ view: ViewReader<Int, String>) throws -> String {
    var random = SeededRandom(seed: seed)
    let group = "\(random.below(3))"
    switch random.below(6) {
    case 0: return "\(view.groups)"
    case 1: return "\(view.count(in: group)) of \(view.count)"
    case 2: return "\(try view.object(at: 1, in: group) ?? -1)"
    case 3: return "\(try view.metadata(at: 0, in: group) ?? "-")"
    case 4: return "\(try view.position(of: "k\(random.below(12))").map { "\($0)" } ?? "-")"
    default:
      return try view.rows(in: group).reversed().map { "\($0.row.key)=\(try $0.row.object)" }.joined(separator: ",")
    }
  }

  private static func write(_ tx: WriteTransaction, _ random: inout SeededRandom, _ even: FilteredView<Numbers>) throws
  {
    let key = "k\(random.below(12))"
    switch random.below(10) {
    case 0...3: try tx[.numbers].set(random.below(30), metadata: "\(random.below(4))", for: key)
    case 4: try tx[.numbers].replaceMetadata("\(random.below(4))", for: key)
    case 5, 6: try tx[.numbers].remove(key)
    case 7: try tx[.numbers].touch(key)
    case 8: if random.oneIn(3) { try tx[.numbers].removeAll() }
    default:
      let divisor = 2 + random.below(3)
      try tx.access(to: even).setFilter(.byObject { $0 % divisor == 0 }, version: "\(random.next())")
    }
  }

  @Test(arguments: [true, false]) func nothingIsMissed(_ isPersistent: Bool) async throws {
    let db = try Database.inMemory()
    let order = order(isPersistent: isPersistent)
    let even = even(order, isPersistent: isPersistent)
    try await db.register(order)
    try await db.register(even)
    let count = 16
    let newest = Shared([Int: String]())
    let observers = (0..<count).map { number in
      Task {
        let observation = db.observe { tx in
          try Self.read(UInt64(number), number % 2 == 0 ? tx.view(order) : tx.view(even))
        }
        for try await found in observation { newest.withLock { $0[number] = found } }
      }
    }
    var random = SeededRandom(seed: 5)
    for step in 0..<TestSize.trials(150, divisor: 4) {
      let seed = random.fork()
      try await db.write { tx in
        var random = seed
        try Self.write(tx, &random, even)
      }
      while !(db.observerCount == count && db.areObserversWaiting) { try await Task.sleep(for: .milliseconds(1)) }
      for number in 0..<count {
        let state = try await db.read { tx in
          try Self.read(UInt64(number), number % 2 == 0 ? tx.view(order) : tx.view(even))
        }
        #expect(newest.withLock { $0[number] } == state, "observer \(number) in step \(step)")
      }
    }
    for observer in observers { observer.cancel() }
    for observer in observers { try await observer.value }
  }

  @Test func otherCollectionsDoNotConcernAView() async throws {
    let db = try Database.inMemory()
    let order = order(isPersistent: true)
    try await db.register(order)
    let runs = Shared(0)
    let observation = db.observe { tx in
      runs.withLock { $0 += 1 }
      return try tx.view(order).count
    }
    let observer = Task { for try await count in observation where count == 1 { return } }
    while !(db.observerCount == 1 && db.areObserversWaiting) { try await Task.sleep(for: .milliseconds(1)) }
    for number in 0..<20 {
      try await db.write { tx in try tx[.items()].set(Item(group: nil, rank: number), for: "\(number)") }
      while !db.areObserversWaiting { try await Task.sleep(for: .milliseconds(1)) }
    }
    #expect(runs.withLock { $0 } == 1)
    try await db.write { tx in try tx[.numbers].set(1, for: "k") }
    try await observer.value
    #expect(runs.withLock { $0 } == 2)
  }
}

/// A value that tasks share.
private final class Shared<Value>: @unchecked Sendable {
  // Sendable: safe because the value is touched under the lock only.
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result { lock.withLock { body(&value) } }
}
