// A random life of a messenger on YapCompat beside a model, with its two screens. In the gate it is short; in full:
//
//     QUIRE_MESSENGER_STEPS=20000 QUIRE_MESSENGER_SEED=7 swift test -c release --filter RandomMessengerTests
//
// The same seed gives the same life, but for one step in eight whose commits race with the main queue, as in an app.

import Foundation
import QuireTesting
import Testing

@Suite("A random life of a messenger") struct RandomMessengerTests {
  @Test("The app, its model and its screens agree after each step") @MainActor func life() async throws {
    let steps = environmentNumber("QUIRE_MESSENGER_STEPS") ?? TestSize.trials(400)
    let seed = UInt64(environmentNumber("QUIRE_MESSENGER_SEED") ?? 1)
    let history = try MessengerHistory(seed: seed)
    do { try await history.run(steps) } catch {
      let replay =
        "QUIRE_MESSENGER_STEPS=\(steps) QUIRE_MESSENGER_SEED=\(seed) swift test --filter RandomMessengerTests"
      throw HistoryError(description: "\(error) (after \(history.steps) steps); again with: \(replay)")
    }
    if steps < 400 { return }
    for what in [
      "make", "deliver", "edit", "mark", "mark all", "delete", "clear", "delete thread", "rename", "pin", "draft",
      "mute", "sort", "count", "taken back", "race", "restart", "notification", "several commits", "inbox insert",
      "inbox delete", "inbox move", "inbox update",
    ] { #expect(history.counts[what, default: 0] > 0, "\(what)") }
  }
}
