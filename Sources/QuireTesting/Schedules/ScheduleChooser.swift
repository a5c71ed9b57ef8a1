// Who goes on: the strategies of a schedule.

/// A choice to be made before a step.
package struct ScheduleChoice {
  /// The threads that can go on, in the order in which they were started.
  package let runnable: [Int]
  /// The thread that would go on by itself; it may be waiting.
  package let current: Int
  /// Whether that thread only looks again and again for what another one is to change.
  package let isSpinning: Bool

  /// Whether the current thread can go on and has a reason to.
  var keepsCurrent: Bool { !isSpinning && runnable.contains(current) }

  /// The thread after the current one, in turn.
  var nextInTurn: Int { runnable.first { $0 > current } ?? runnable[0] }
}

/// Chooses who goes on. The same chooser, asked the same, says the same.
package protocol ScheduleChooser {
  /// One of `runnable`.
  mutating func choose(_ choice: ScheduleChoice) -> Int
}

/// Any thread at any step: finds what needs many changes of threads, anywhere.
package struct RandomChooser: ScheduleChooser {
  private var random: SeededRandom
  private let oneIn: Int

  /// Changes threads at one step in `oneIn`.
  package init(seed: UInt64, oneIn: Int) {
    random = SeededRandom(seed: seed)
    self.oneIn = oneIn
  }

  package mutating func choose(_ choice: ScheduleChoice) -> Int {
    let stays = choice.keepsCurrent && !random.oneIn(oneIn)
    return stays ? choice.current : random.pick(choice.runnable)
  }
}

/// The thread of the highest priority, and a few steps at which that changes: finds what needs few changes of threads
/// at just the right steps, with a probability that can be computed (Burckhardt, Kothari, Musuvathi and Nagarakatte, “A
/// randomized scheduler with probabilistic guarantees of finding bugs”, 2010).
package struct PriorityChooser: ScheduleChooser {
  private var random: SeededRandom
  private var priorities: [Int: Int] = [:]
  /// At which steps the thread that runs falls behind all others, latest first.
  private var changes: [Int]
  private var step = 0
  private var lowest = 0

  /// `changeCount` changes, anywhere in the first `stepCount` steps.
  package init(seed: UInt64, changeCount: Int, stepCount: Int) {
    var random = SeededRandom(seed: seed)
    changes = (0..<changeCount).map { _ in random.below(max(1, stepCount)) }.sorted(by: >)
    self.random = random
  }

  private mutating func priority(_ thread: Int) -> Int {
    if let priority = priorities[thread] { return priority }
    let drawn = 1 + random.below(1 << 20)
    priorities[thread] = drawn
    return drawn
  }

  package mutating func choose(_ choice: ScheduleChoice) -> Int {
    step += 1
    var falls = choice.isSpinning
    while let change = changes.last, change < step {
      changes.removeLast()
      falls = true
    }
    if falls {
      lowest -= 1
      priorities[choice.current] = lowest
    }
    var best = choice.runnable[0]
    for thread in choice.runnable.dropFirst() where priority(thread) > priority(best) { best = thread }
    return best
  }
}

/// One order of all those that change threads `limit` times at the most where they need not. `next` gives the following
/// one; together they are all there are (Musuvathi and Qadeer, “Iterative context bounding”, 2007).
package struct ExhaustiveChooser: ScheduleChooser {
  /// A step at which there was something to choose: who could go on, in the order of trial, and which one did.
  private struct Branch {
    let options: [Int]
    var taken: Int
    /// Whether the first option was to stay, so that every other one counts as a change.
    let isFree: Bool
  }

  private var branches: [Branch] = []
  private var depth = 0
  private var changesLeft: Int
  private let limit: Int

  /// The first order, which changes threads only where it must.
  package init(limit: Int) {
    self.limit = limit
    changesLeft = limit
  }

  package mutating func choose(_ choice: ScheduleChoice) -> Int {
    let keeps = choice.keepsCurrent
    let rest = choice.runnable.filter { $0 != choice.current }
    // Who spins gains nothing by spinning again before anybody else has moved.
    let options = keeps ? [choice.current] + rest : (rest.isEmpty ? choice.runnable : rest)
    let isChoice = options.count > 1 && (!keeps || changesLeft > 0)
    guard isChoice else { return options[0] }
    if depth == branches.count { branches.append(Branch(options: options, taken: 0, isFree: !keeps)) }
    let branch = branches[depth]
    precondition(branch.options == options, "a schedule that is run again goes another way at choice \(depth)")
    depth += 1
    if !branch.isFree, branch.taken > 0 { changesLeft -= 1 }
    return options[branch.taken]
  }

  /// The following order; nil after the last.
  package func next() -> ExhaustiveChooser? {
    var following = self
    while let last = following.branches.last {
      if last.taken + 1 < last.options.count {
        following.branches[following.branches.count - 1].taken += 1
        following.depth = 0
        following.changesLeft = limit
        return following
      }
      following.branches.removeLast()
    }
    return nil
  }
}

/// Stays with each thread as long as it can go on, but at one step: there another one goes on, until it cannot.
package struct OneChangeChooser: ScheduleChooser {
  private let change: Int
  private var step = 0

  /// Changes threads at step `change`.
  package init(at change: Int) { self.change = change }

  package mutating func choose(_ choice: ScheduleChoice) -> Int {
    defer { step += 1 }
    return choice.keepsCurrent && step != change ? choice.current : choice.nextInTurn
  }
}
