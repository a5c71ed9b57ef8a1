// Where a test decides which thread goes on. Debug builds alone have it.

#if DEBUG
  /// A thread of a schedule: of several that belong to one, only one runs at a time, and at each step of it the
  /// schedule says who goes on.
  ///
  /// Everything that threads do to one another goes through here: atomics, latches, semaphores, pauses, the clock, and
  /// the start of a thread. A thread that belongs to no schedule, as every thread of an app's, goes on by itself.
  package protocol ScheduledThread: AnyObject, Sendable {
    /// A number that no other thread of the schedule has, nor any of the system's; its lowest twelve bits are zero.
    var identity: UInt { get }

    /// Called before the thread does something that others can notice.
    func step()

    /// Called by a thread that looks again and again at what another one is to change: others are to go on.
    func spin()

    /// Lets others go on until `condition` is true, or until `deadline`, in nanoseconds of the schedule's clock; false
    /// if that came first. The condition may be asked at any time, on any thread of the schedule, and must call nothing
    /// that is a step.
    func wait(until condition: @escaping () -> Bool, deadline: UInt64?) -> Bool

    /// The schedule's clock, in nanoseconds. It goes on by steps, and over the time in which nobody can.
    var now: UInt64 { get }

    /// Starts a thread of the same schedule.
    func start(_ body: @escaping @Sendable () -> Void)
  }

  /// The schedule that the calling thread belongs to.
  package enum ThreadSeam {
    private static let word = ThreadWord()

    /// What the word of a thread leads to.
    private final class Holder: Sendable {
      let thread: any ScheduledThread
      init(_ thread: any ScheduledThread) { self.thread = thread }
    }

    /// The calling thread, if it belongs to a schedule.
    package static var current: (any ScheduledThread)? {
      get {
        // No closure: all atomics come here, mostly for nothing, and nothing is optimised.
        guard let holder = word.value else { return nil }
        return Unmanaged<Holder>.fromOpaque(holder).takeUnretainedValue().thread
      }
      set {
        if let old = word.value { Unmanaged<Holder>.fromOpaque(old).release() }
        word.value = newValue.map { Unmanaged.passRetained(Holder($0)).toOpaque() }
      }
    }

    /// A step of the calling thread, if it belongs to a schedule.
    static func step() {
      if word.value == nil { return }
      current?.step()
    }
  }
#endif
