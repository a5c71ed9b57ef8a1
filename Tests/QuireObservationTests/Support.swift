// What the tests of live objects share.

import Foundation
import Observation
import QuireDatabase
import QuireTesting
import Synchronization
import Testing

struct Song: Codable, Equatable, Sendable {
  var title: String
  var album = "a1"
  var rating = 3
}

extension RowCollection where Object == Song, Metadata == Int {
  static var songs: Self { Self("songs") }
}

struct Refusal: Error, Equatable {}

/// Waits until something holds; records an issue if it does not within twenty minutes. Other tests have the threads of
/// the process for as long.
@MainActor
func until(
  _ sourceLocation: SourceLocation = #_sourceLocation, _ isReached: @MainActor () throws -> Bool
) async throws {
  let end = ContinuousClock.now + .seconds(1200)
  while try !isReached() {
    guard ContinuousClock.now < end else {
      Issue.record("what was waited for does not come", sourceLocation: sourceLocation)
      return
    }
    try await Task.sleep(for: .milliseconds(1))
  }
}

/// Waits until every observer of the database waits for a change.
@MainActor
func settle(_ db: Database, observers: Int = 1) async throws {
  try await until { db.observerCount == observers && db.areObserversWaiting }
}

/// Counts how often what a closure reads is told to change.
@MainActor
final class ChangeCounter {
  private(set) var count = 0
  private let read: @MainActor () -> Void

  init(_ read: @escaping @MainActor () -> Void) {
    self.read = read
    track()
  }

  private func track() {
    withObservationTracking(read) { [weak self] in
      MainActor.assumeIsolated {
        self?.count += 1
        // Read again after the change, as a view does.
        Task { self?.track() }
      }
    }
  }
}
