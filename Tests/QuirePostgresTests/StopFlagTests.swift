// Telling a feeder to end, and waking it; the pauses between its tries.

#if Postgres
  import Foundation
  import Testing

  @testable import QuirePostgres

  @Suite("Stopping and waking feeders") struct StopFlagTests {
    private func time(_ body: () -> Void) -> Duration { ContinuousClock().measure(body) }

    @Test("Many calls wake one sleep") func manyWakes() {
      let flag = StopFlag()
      for _ in 0..<1000 { flag.wake() }
      #expect(time { flag.sleep(.seconds(60)) } < .seconds(10))
      #expect(time { flag.sleep(.milliseconds(30)) } >= .milliseconds(25))
      flag.wake()
      #expect(time { flag.pause(.milliseconds(30)) } >= .milliseconds(25))
    }

    @Test("A flag that is set ends every sleep and pause") func set() async throws {
      let flag = StopFlag()
      let sleeper = Thread { flag.pause(.seconds(600)) }
      sleeper.start()
      flag.set()
      while !sleeper.isFinished { try await Task.sleep(for: .milliseconds(2)) }
      #expect(flag.isSet && time { flag.sleep(.seconds(60)) } < .seconds(10))
      #expect(time { flag.pause(.seconds(60)) } < .seconds(10))
    }

    @Test("Pauses double up to the longest, by half of it more or less, and begin anew") func pauses() {
      var pause = RetryPause(longest: .seconds(1))
      for expected in [50, 100, 200, 400, 800, 1000, 1000, 1000] {
        let duration = pause.next()
        #expect(duration >= .milliseconds(expected) * 0.5 && duration <= .milliseconds(expected) * 1.5)
      }
      pause.reset()
      #expect(pause.next() <= .milliseconds(75))
    }
  }
#endif
