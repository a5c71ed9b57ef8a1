// Who waits for what is run after commits, and for looking at them.

import Foundation
import QuireDatabase
import QuireStorage
import QuireTesting
import Synchronization
import Testing

@Suite struct DeliveryTests {
  private let db: Database

  init() throws { db = try Database.inMemory() }

  @Test("An action after a commit holds up nobody's acknowledgement") func actionsDelayNobody() async throws {
    let (db, gate) = (db, Gate())
    try await db.write { tx in
      try tx[.texts("t")].set("1", for: "a")
      tx.onCommit { gate.pass() }
    }
    for number in 0..<5 { try await db.write { tx in try tx[.texts("t")].set("\(number)", for: "b") } }
    #expect(!gate.hasTimedOut)
    gate.open()
    await db.drain()
    #expect(gate.count == 1)
  }

  @Test("Actions after async commits run one after the other, in the order of the commits") func actionsAreInOrder()
    async throws
  {
    let (db, order) = (db, Recorder())
    for number in 0..<40 {
      try await db.write { tx in
        try tx[.texts("t")].set("\(number)", for: "a")
        for part in 0..<2 {
          tx.onCommit {
            let seen = (try? db.read { tx in try tx[.texts("t")].get("a") }).flatMap { Int($0) } ?? -1
            order.append("\(number).\(part)\(seen < number ? " too early" : "")")
          }
        }
      }
    }
    await db.drain()
    #expect(order.values == (0..<40).flatMap { ["\($0).0", "\($0).1"] })
  }

  @Test("Who drains waits for the actions as well, and they may write") func drainingWaitsForActions() async throws {
    let db = db
    for number in 0..<20 {
      try await db.write { tx in
        tx.onCommit { try? db.write { tx throws in try tx[.texts("t")].set("\(number)", for: "\(number)") } }
      }
    }
    await db.drain()
    let count = try await db.read { tx in tx[.texts("t")].count }
    #expect(count == 20)
  }

  @Test("Observers are told although every thread that reads is busy") func looksNeedNoReader() async throws {
    let (db, gate) = (db, Gate())
    let observation = db.observe { tx in try tx[.texts("t")].get("a") }
    var iterator = observation.makeAsyncIterator()
    _ = try await iterator.next()
    let next = Task { [iterator] in
      var iterator = iterator
      _ = try await iterator.next()
    }
    while !db.areObserversWaiting { try await Task.sleep(for: .milliseconds(1)) }
    let long = (0..<2).map { _ in Task { try await db.read { _ in gate.pass() } } }
    await gate.waitForEntries(2)
    try await db.write { tx in try tx[.texts("t")].set("1", for: "a") }
    // The look has been taken when no look is due any more and the observer does not wait.
    while db.hasLooksDue, !gate.hasTimedOut { try await Task.sleep(for: .milliseconds(1)) }
    #expect(!gate.hasTimedOut)
    gate.open()
    gate.open()
    for task in long { try await task.value }
    try await next.value
  }

  @Test("A read that was cancelled before its turn never runs") func cancelledReadsDoNotRun() async throws {
    let (db, gate, ran) = (db, Gate(), Recorder())
    let long = (0..<2).map { _ in Task { try await db.read { _ in gate.pass() } } }
    await gate.waitForEntries(2)
    let queued = Task { try await db.read { _ in ran.append("ran") } }
    for _ in 0..<20 { try await Task.sleep(for: .milliseconds(1)) }
    queued.cancel()
    await #expect(throws: CancellationError.self) { try await queued.value }
    #expect(!gate.hasTimedOut)
    gate.open()
    gate.open()
    for task in long { try await task.value }
    try await db.read { _ in }
    #expect(ran.values.isEmpty)
  }

  @Test("What is queued for a busy thread can be waited for by closing") func closingEndsActions() async throws {
    let (db, order) = (db, Recorder())
    for number in 0..<10 { try await db.write { tx in tx.onCommit { order.append("\(number)") } } }
    try close(db)
    #expect(order.values == (0..<10).map { "\($0)" })
  }

  private func close(_ db: Database) throws { try db.close() }
}

/// A value inside a value inside a value.
private indirect enum Nest: Codable, Sendable, Equatable {
  case end
  case inner(Nest)

  static func ofDepth(_ depth: Int) -> Nest { (0..<depth).reduce(.end) { nest, _ in .inner(nest) } }

  init(from decoder: any Decoder) throws {
    StackProbe.note()
    var container = try decoder.unkeyedContainer()
    self = container.isAtEnd ? .end : .inner(try container.decode(Nest.self))
  }

  func encode(to encoder: any Encoder) throws {
    StackProbe.note()
    var container = encoder.unkeyedContainer()
    if case .inner(let nest) = self { try container.encode(nest) }
  }
}

/// How far calls go down the stack of the thread that goes down furthest.
private enum StackProbe {
  static let found = Shared<[ObjectIdentifier: ClosedRange<UInt>]>([:])
  static func note() {
    var here = 0
    let thread = ObjectIdentifier(Thread.current)
    withUnsafeMutablePointer(to: &here) { pointer in
      let address = UInt(bitPattern: pointer)
      found.withLock { found in
        let range = found[thread] ?? address...address
        found[thread] = min(range.lowerBound, address)...max(range.upperBound, address)
      }
    }
  }
  static func take() -> UInt {
    found.withLock { found in
      defer { found = [:] }
      return found.values.map { $0.upperBound - $0.lowerBound }.max() ?? 0
    }
  }
}

extension RowCollection where Object == Nest, Metadata == NoMetadata {
  fileprivate static var nests: Self { .init("nests") }
}

@Suite struct ThreadStackTests {
  @Test("The deepest value that is coded leaves half of a thread's stack to the app") func deepestValue() async throws {
    let db = try Database.inMemory()
    let nest = Nest.ofDepth(Limits.codingDepth - 2)
    try await db.write { tx in try tx[.nests].set(nest, for: "a") }
    let written = StackProbe.take()
    let found = try await db.read { tx in try tx[.nests].get("a") }
    let read = StackProbe.take()
    #expect(found == nest)
    #expect(max(written, read) < ThreadStarter.stackByteCount / 2, "\(written) and \(read) bytes")
  }
}
