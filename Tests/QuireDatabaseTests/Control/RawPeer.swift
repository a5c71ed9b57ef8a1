// Somebody who speaks to a control socket as no tool would.

import Foundation
import QuireStorage
import QuireTesting
import Synchronization

@testable import QuireDatabase

/// A connection over which a test says any bytes.
final class RawPeer {
  let socket: LocalSocket
  private var heard: [UInt8] = []

  init(_ path: String) throws { socket = try LocalSocket.connected(to: path, until: Self.deadline()) }

  private static func deadline(_ seconds: UInt64 = 10) -> UInt64 { MonotonicClock.now + seconds * 1_000_000_000 }

  /// Says bytes; false if the other side has ended the connection.
  @discardableResult
  func say(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard case .moved(let count) = socket.send(rest, until: Self.deadline()), count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  @discardableResult
  func say(_ text: String) -> Bool { say(Array(text.utf8)) }

  /// The next line; nil if the other side has ended the connection.
  func line() -> String? {
    while true {
      if let end = heard.firstIndex(of: UInt8(ascii: "\n")) {
        defer { heard.removeSubrange(...end) }
        return String(decoding: heard[..<end], as: UTF8.self)
      }
      guard case .moved(let count) = socket.receive(into: &heard, limit: 4096, until: Self.deadline()), count > 0
      else { return nil }
    }
  }

  /// The code of the error that the next line tells.
  func error() -> DatabaseError.Code? {
    guard let line = line(), let value = try? RowValue(json: line) else { return nil }
    return ControlAnswer.error(value)?.code
  }
}

/// Waits until something is so, ten seconds at the most.
func comesTrue(_ condition: () throws -> Bool) rethrows -> Bool {
  for _ in 0..<2000 {
    if try condition() { return true }
    usleep(5000)
  }
  return false
}

/// A thread that commits one number after another until it is stopped.
final class Writer: Sendable {
  private let isStopped = Synchronization.Atomic<Bool>(false)
  private let count = Synchronization.Atomic<Int>(0)
  private let gate = Gate()

  /// Has `commit` run with 1, 2 and so on; it ends with the first that throws.
  func start(_ commit: @escaping @Sendable (Int) throws -> Void) {
    Thread.detachNewThread { [self] in
      var number = 1
      while !isStopped.load(ordering: .acquiring) {
        do { try commit(number) } catch {
          isStopped.store(true, ordering: .releasing)
          break
        }
        count.store(number, ordering: .relaxed)
        number += 1
      }
      gate.open()
    }
  }

  /// Waits for the thread to end; returns how many commits it has made, or -1 if one threw.
  func stop() -> Int {
    let hasThrown = isStopped.exchange(true, ordering: .acquiringAndReleasing)
    gate.pass()
    return hasThrown ? -1 : count.load(ordering: .relaxed)
  }
}
