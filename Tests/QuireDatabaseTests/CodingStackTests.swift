// What values inside one another find on the stack that they are coded on, and how large they may be.

import Foundation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

/// Runs `body` on a thread whose stack has `byteCount` bytes: the threads of Apple's systems have 512 KiB.
func onStack(_ byteCount: Int, _ body: @escaping @Sendable () -> Void) {
  let done = DispatchSemaphore(value: 0)
  let thread = Thread {
    body()
    done.signal()
  }
  thread.stackSize = byteCount
  thread.start()
  done.wait()
}

/// What a value finds where it is coded.
private enum Context {
  @TaskLocal static var number = 0
  static let lock = NSRecursiveLock()
  @MainActor static var visits = 0
}

/// Calls back at its innermost value, while it is encoded and while it is decoded.
private struct Caller: Codable, Sendable {
  typealias Call = @Sendable () throws -> Void
  @TaskLocal static var encoding: Call = {}
  @TaskLocal static var decoding: Call = {}

  var inner: [Caller] = []

  enum Key: CodingKey { case inner }

  init(depth: Int) { inner = depth > 2 ? [Caller(depth: depth - 2)] : [] }

  func encode(to encoder: any Encoder) throws {
    try Self.encoding()
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(inner, forKey: .inner)
  }

  init(from decoder: any Decoder) throws {
    inner = try decoder.container(keyedBy: Key.self).decode([Caller].self, forKey: .inner)
    try Self.decoding()
  }
}

/// A value that keeps a lock of the thread's while those inside are encoded.
private struct Locking: Codable, Sendable {
  var inner: [Locking] = []

  enum Key: CodingKey { case inner }

  init(depth: Int) { inner = depth > 2 ? [Locking(depth: depth - 2)] : [] }

  func encode(to encoder: any Encoder) throws {
    try Context.lock.withLock {
      var container = encoder.container(keyedBy: Key.self)
      try container.encode(inner, forKey: .inner)
    }
  }
}

// 64 bytes, 512 and 4 KiB.
private struct Cells: Codable, Sendable, Equatable {
  var (a, b, c, d, e, f, g, h) = (1, 2, 3, 4, 5, 6, 7, 8)
}
private struct Block: Codable, Sendable, Equatable {
  var (a, b, c, d) = (Cells(), Cells(), Cells(), Cells())
  var (e, f, g, h) = (Cells(), Cells(), Cells(), Cells())
}
private struct Page: Codable, Sendable, Equatable {
  var (a, b, c, d) = (Block(), Block(), Block(), Block())
  var (e, f, g, h) = (Block(), Block(), Block(), Block())
}

/// 3 KiB.
private struct Large: Codable, Sendable {
  var (a, b, c) = (Block(), Block(), Block())
  var (d, e, f) = (Block(), Block(), Block())
  var inner: [Large] = []

  /// Made from the inside, as this one must not take stack.
  init(depth: Int) { for _ in 0..<(depth - 1) / 2 { inner = [self] } }
}

/// 10 KiB.
private struct Huge: Codable, Sendable {
  var (a, b) = (Page(), Page())
  var (c, d, e, f) = (Block(), Block(), Block(), Block())
  var inner: [Huge] = []

  /// Made from the inside, as this one must not take stack.
  init(depth: Int) { for _ in 0..<(depth - 1) / 2 { inner = [self] } }
}

/// An object whose coding takes 100 KiB of stack for each.
private final class Greedy: Codable, Sendable {
  let inner: Greedy?
  /// Called by the innermost one.
  @TaskLocal static var encoding: @Sendable () throws -> Void = {}

  enum Key: CodingKey { case inner }

  init(depth: Int) { inner = depth > 1 ? Greedy(depth: depth - 1) : nil }

  func encode(to encoder: any Encoder) throws {
    try descend {
      var container = encoder.container(keyedBy: Key.self)
      try container.encodeIfPresent(inner, forKey: .inner)
      if inner == nil { try Self.encoding() }
    }
  }

  init(from decoder: any Decoder) throws {
    inner = try descend { try decoder.container(keyedBy: Key.self).decodeIfPresent(Greedy.self, forKey: .inner) }
  }
}

/// Runs `body` 100 KiB further down the stack.
private func descend<Value>(from high: UInt? = nil, _ body: () throws -> Value) rethrows -> Value {
  var word = 0
  let here = withUnsafeMutablePointer(to: &word) { UInt(bitPattern: $0) }
  defer { withExtendedLifetime(word) {} }
  guard (high ?? here) - here < 100 << 10 else { return try body() }
  return try descend(from: high ?? here, body)
}

@Suite("The stack of values inside one another") struct CodingStackTests {
  private static let stacks = [512 << 10, 8 << 20]

  /// Runs `body` on threads with little stack and with much, and shows what it throws.
  private func onStacks(_ body: @escaping @Sendable () throws -> Void) {
    for byteCount in Self.stacks {
      onStack(byteCount) { #expect(throws: Never.self, "\(byteCount)") { try body() } }
    }
  }

  // MARK: Where it runs

  @Test("Values that are deep inside others see the task's values, as the others do") func taskValues() {
    onStacks {
      let found = Found()
      try Context.$number.withValue(7) {
        let note: Caller.Call = { found.append(Context.number) }
        try Caller.$encoding.withValue(note) {
          try Caller.$decoding.withValue(note) { _ = try recoded(Caller(depth: 500)) }
        }
      }
      #expect(found.numbers == Array(repeating: 7, count: 500))
    }
  }

  @Test("A lock that a value holds is its own for the values inside", .timeLimit(.minutes(1))) func locks() {
    onStacks { _ = try recoded(Locking(depth: 500)) }
  }

  @MainActor @Test("Values that are coded on the main thread are on the main actor") func mainActor() throws {
    Context.visits = 0
    let note: Caller.Call = { MainActor.assumeIsolated { Context.visits += 1 } }
    try Caller.$encoding.withValue(note) {
      try Caller.$decoding.withValue(note) { _ = try recoded(Caller(depth: 500)) }
    }
    #expect(Context.visits == 500)
  }

  @Test("A transaction inside of a coder is nested, however deep", .timeLimit(.minutes(1)), arguments: [10, 400])
  func nestedTransactions(depth: Int) throws {
    let db = try Database.inMemory()
    let callers = RowCollection<Caller, NoMetadata>("callers")
    let numbers = RowCollection<Int, NoMetadata>("numbers")
    try db.write { tx throws in try tx[callers].set(Caller(depth: depth), for: "caller") }
    let calls: [Caller.Call] = [
      { try db.write { tx throws in try tx[numbers].set(1, for: "number") } },
      { try db.read { tx throws in _ = try tx[numbers].get("number") } },
      { try db.checkpoint() },
    ]
    onStacks {
      for (index, call) in calls.enumerated() {
        let nested: Caller.Call = {
          let error = #expect(throws: DatabaseError.self, "\(index)") { try call() }
          #expect(error?.code == .nestedTransaction, "\(index)")
        }
        try Caller.$encoding.withValue(nested) {
          try db.write { tx throws in try tx[callers].set(Caller(depth: depth), for: "caller") }
        }
        try Caller.$decoding.withValue(nested) {
          try db.write { tx throws in
            // Forgets the object, so that it is read.
            try tx[callers].set(Caller(depth: depth), for: "caller \(index)")
          }
          if index < 2 { _ = try db.read { tx throws in try tx[callers].get("caller \(index)") } }
        }
      }
    }
  }

  // MARK: How much

  @Test("Large values are stored and read on any thread, or refused") func largeValues() {
    onStacks {
      for depth in TestSize.some([2, 10, 30, 100, 300, 500], of: 4) {
        _ = try recoded(Large(depth: depth))
        if depth <= 300 { _ = try recoded(Huge(depth: depth)) }
      }
      #expect(throws: EncodingError.self) { _ = try recoded(Huge(depth: 500)) }
    }
  }

  @Test("The refusal names the row, and what to do") func refusal() throws {
    let rows = RowCollection<Huge, NoMetadata>("huge")
    let db = try Database.inMemory()
    try db.write { tx throws in
      let error = #expect(throws: DatabaseError.self) { try tx[rows].set(Huge(depth: 500), for: "row") }
      #expect(error?.code == .encodingFailed && error?.collection == "huge" && error?.key == "row")
      let cause = "\(error?.cause as Any)"
      #expect(cause.contains("classes or lists"))
    }
  }

  @Test("Values whose code takes much stack are stored and read on any thread") func greedyValues() {
    onStacks { _ = try recoded(Greedy(depth: 500)) }
  }

  @Test("Rows that are stored by coders of rows share one larger stack, and are refused at its end") func greedyRows() {
    onStacks {
      let rows = RowCollection<Greedy, NoMetadata>("greedy")
      let db = try Database.inMemory()
      try db.write { tx throws in
        // Safe because the coder calls back on the thread of the transaction.
        nonisolated(unsafe) let tx = tx
        let storing: @Sendable () throws -> Void = {
          try Greedy.$encoding.withValue({}) {
            try tx[rows].set(Greedy(depth: 50), for: "inner")
            let error = #expect(throws: DatabaseError.self) { try tx[rows].set(Greedy(depth: 500), for: "too much") }
            #expect(error?.code == .encodingFailed && error?.key == "too much")
            let cause = "\(error?.cause as Any)"
            #expect(cause.contains("more stack than there is"))
          }
        }
        try Greedy.$encoding.withValue(storing) { try tx[rows].set(Greedy(depth: 300), for: "outer") }
        #expect(try tx[rows].get("inner") != nil && tx[rows].get("outer") != nil)
      }
    }
  }

  @Test("Many values that change the stack, one after the other") func manyChanges() throws {
    struct Many: Codable, Sendable { var all: [Caller] }
    onStacks {
      let value = Many(all: Array(repeating: Caller(depth: 400), count: 100))
      let read = try recoded([[value]])
      #expect(read[0][0].all.count == 100)
    }
  }

  @Test("What a value throws on the larger stack is thrown to the caller, and the coder goes on") func errors() {
    struct Refusal: Error {}
    onStacks {
      #expect(throws: Refusal.self) {
        try Greedy.$encoding.withValue({ throw Refusal() }) { _ = try recoded(Greedy(depth: 300)) }
      }
      _ = try recoded(Greedy(depth: 300))
    }
  }
}

/// Numbers that were found on a thread.
private final class Found: @unchecked Sendable {
  // Sendable: safe because one thread has it.
  var numbers: [Int] = []

  func append(_ number: Int) { numbers.append(number) }
}
