// Threads of which one runs at a time, in an order that a seed decides.

#if DEBUG
  internal import Dispatch
  internal import QuireStorage

  #if canImport(Darwin)
    internal import Darwin
  #elseif canImport(Glibc)
    internal import Glibc
  #elseif canImport(Musl)
    internal import Musl
  #elseif canImport(Android)
    internal import Android
  #endif

  /// Runs threads one step at a time; a chooser says which one makes the next step.
  ///
  /// The threads are the system's, but all of them sleep except for one. A step ends where a thread is about to do
  /// something that others can notice: what lies between two steps cannot be seen from outside if there are no data
  /// races, so the order of the steps is all that there is to a run. Time is the number of steps, and jumps where all
  /// threads wait for a time. The way is that of CHESS (Musuvathi and others, 2008), loom and shuttle.
  ///
  /// Invariants:
  /// 1. One thread runs, `running`, and touches what is mutable here; it hands that on with its turn. Before the first
  ///    and after the last it is the caller of `run`.
  /// 2. A thread that waits has a condition or a time; it is given a turn when the one is true or the other has come.
  /// 3. Nothing has a turn after `failure`: threads that have not ended then sleep for ever.
  package final class ThreadSchedule: @unchecked Sendable {
    // Sendable: safe because of invariant 1.

    /// What ended a schedule before its threads had ended.
    package enum Failure: Error, CustomStringConvertible {
      /// No thread can go on, and none waits for a time.
      case deadlock(String)
      /// There have been so many steps that the threads seem to go on for ever.
      case endless(String)

      package var description: String {
        switch self {
        case .deadlock(let threads): "every thread waits for another: \(threads)"
        case .endless(let threads): "the threads do not come to an end: \(threads)"
        }
      }
    }

    private var chooser: any ScheduleChooser
    private let stepLimit: Int
    private var threads: [Member] = []
    private var running = 0
    private var clock: UInt64 = 1_000_000_000
    private var failure: Failure?
    private let ended = DispatchSemaphore(value: 0)

    /// How many steps there have been, and how often another thread went on.
    package private(set) var stepCount = 0
    package private(set) var changeCount = 0
    /// A number that tells orders apart.
    package private(set) var orderHash: UInt64 = 0xcbf2_9ce4_8422_2325

    /// The time that a step takes, in nanoseconds.
    private static let stepNanoseconds: UInt64 = 50
    /// How long threads of no schedule may take inside a latch that these want.
    private let patienceNanoseconds: UInt64

    /// A schedule that has not begun.
    ///
    /// - Parameter patience: how many seconds threads of no schedule may take inside a latch that these want.
    package init(_ chooser: any ScheduleChooser, stepLimit: Int = 3_000_000, patience: Double = 5) {
      self.chooser = chooser
      patienceNanoseconds = UInt64(patience * 1e9)
      self.stepLimit = stepLimit
    }

    /// Runs `body` as the first thread, and all that it starts; returns when all have ended.
    ///
    /// - Throws: `Failure`; then threads that had not ended are asleep for ever.
    /// - Returns: the chooser as it is afterwards.
    @discardableResult
    package func run(_ body: @escaping @Sendable () -> Void) throws -> any ScheduleChooser {
      precondition(threads.isEmpty, "a schedule runs once")
      add(body)
      threads[0].turn.signal()
      ended.wait()
      if let failure { throw failure }
      return chooser
    }

    private func add(_ body: @escaping @Sendable () -> Void) {
      let member = Member(self, threads.count, body)
      threads.append(member)
      let result: Void? = try? ThreadStarter.startThread { [self] in
        member.turn.wait()
        ThreadSeam.current = member
        member.runBody()
        ThreadSeam.current = nil
        member.isOver = true
        passOn(isSpinning: false)
      }
      precondition(result != nil, "the system gives no thread for a schedule")
    }

    // MARK: Steps

    /// Whether the thread can go on now.
    private func isRunnable(_ thread: Member) -> Bool {
      if thread.isOver { return false }
      if let condition = thread.condition, condition() { return true }
      return thread.condition == nil || thread.deadline.map { $0 <= clock } ?? false
    }

    private func runnable() -> [Int] { threads.filter(isRunnable).map(\.index) }

    /// Those who can go on, at the earliest time at which there are any; none at the end or at a failure.
    private func awaitRunnable() -> [Int] {
      let found = runnable()
      if !found.isEmpty || threads.allSatisfy(\.isOver) { return found }
      if let deadline = threads.filter({ !$0.isOver }).compactMap(\.deadline).min() {
        clock = max(clock, deadline)
        return runnable()
      }
      // A thread of no schedule may be inside a latch.
      let start = DispatchTime.now().uptimeNanoseconds
      while DispatchTime.now().uptimeNanoseconds - start < patienceNanoseconds {
        let found = runnable()
        if !found.isEmpty { return found }
        usleep(100)
      }
      failure = .deadlock(states)
      return []
    }

    private var states: String {
      threads.filter { !$0.isOver }.map { thread in
        "\(thread.index) \(thread.condition == nil ? "runs" : thread.deadline == nil ? "waits" : "waits for a time")"
      }.joined(separator: ", ")
    }

    /// Chooses who goes on, and sleeps until it is the turn of the calling thread again, unless that has ended.
    fileprivate func passOn(isSpinning: Bool) {
      let own = threads[running]
      stepCount += 1
      clock += Self.stepNanoseconds
      if stepCount > stepLimit { failure = .endless(states) }
      let runnable = failure == nil ? awaitRunnable() : []
      guard !runnable.isEmpty else {
        ended.signal()
        if !own.isOver { own.turn.wait() }
        return
      }
      let next = chooser.choose(ScheduleChoice(runnable: runnable, current: running, isSpinning: isSpinning))
      precondition(runnable.contains(next), "a chooser takes a thread that cannot go on")
      if next == running { return }
      changeCount += 1
      orderHash = (orderHash ^ UInt64(next) ^ UInt64(stepCount) << 8) &* 0x0000_0100_0000_01b3
      running = next
      threads[next].turn.signal()
      if !own.isOver { own.turn.wait() }
    }

    /// A thread of a schedule.
    private final class Member: ScheduledThread, @unchecked Sendable {
      // Sendable: safe because of invariant 1 of the schedule.
      unowned let schedule: ThreadSchedule
      let index: Int
      let turn = DispatchSemaphore(value: 0)
      var condition: (() -> Bool)?
      var deadline: UInt64?
      var isOver = false
      private var body: (@Sendable () -> Void)?

      init(_ schedule: ThreadSchedule, _ index: Int, _ body: @escaping @Sendable () -> Void) {
        self.schedule = schedule
        self.index = index
        self.body = body
      }

      /// Runs what the thread is for, and lets go of it: while it is the thread's turn, as the end of what it holds is
      /// something that others notice.
      func runBody() {
        let body = self.body
        self.body = nil
        body?()
      }

      /// No thread of the system's has its own words so low in memory.
      var identity: UInt { UInt(index + 1) << 12 }

      func step() { schedule.passOn(isSpinning: false) }
      func spin() { schedule.passOn(isSpinning: true) }
      var now: UInt64 { schedule.clock }
      func start(_ body: @escaping @Sendable () -> Void) { schedule.add(body) }

      func wait(until condition: @escaping () -> Bool, deadline: UInt64?) -> Bool {
        if condition() { return true }
        (self.condition, self.deadline) = (condition, deadline)
        schedule.passOn(isSpinning: false)
        (self.condition, self.deadline) = (nil, nil)
        return condition()
      }
    }
  }
#endif
