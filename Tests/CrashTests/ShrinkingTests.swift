// What is left of a list that fails once everything is gone that the failure does not need.

import QuireTesting
import Testing

@Suite struct ShrinkingTests {
  private var never: ContinuousClock.Instant { .now + .seconds(3600) }

  @Test func keepsOnlyWhatTheFailureNeeds() {
    var runs = 0
    let needed = [17, 400, 401, 998]
    let shrunk = shrink(Array(0..<1000), until: never) { operations in
      runs += 1
      return needed.allSatisfy(operations.contains)
    }
    #expect(shrunk == needed)
    #expect(runs < 300)
  }

  @Test func goesOverSinglesAgain() {
    // The first can go only when the last is gone.
    let shrunk = shrink([0, 1, 2], until: never) { [[0, 1, 2], [0, 1], [1]].contains($0) }
    #expect(shrunk == [1])
  }

  @Test func shrinksToNothingWhatAlwaysFails() {
    #expect(shrink([1, 2, 3], until: never) { _ in true }.isEmpty)
    #expect(shrink([Int](), until: never) { _ in true }.isEmpty)
  }

  @Test func leavesAsItIsWhatNeedsAll() {
    #expect(shrink([1, 2, 3], until: never) { $0 == [1, 2, 3] } == [1, 2, 3])
  }

  @Test func endsAtTheDeadline() {
    var runs = 0
    let shrunk = shrink([1, 2, 3], until: .now) { _ in
      runs += 1
      return true
    }
    #expect(shrunk == [1, 2, 3])
    #expect(runs == 0)
  }
}
