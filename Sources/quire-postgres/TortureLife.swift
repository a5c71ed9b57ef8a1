// A writer that goes on until it is told to stop, and what its commits take.

#if Postgres
  internal import Foundation
  internal import QuireDatabase
  internal import Synchronization

  /// Whether the process was told to end.
  enum StopSignal {
    private static let state = Atomic(false)

    /// Listens to SIGTERM from now on, which then ends nothing by itself.
    static func listen() {
      // The handler must find it made.
      state.store(false, ordering: .relaxed)
      signal(SIGTERM) { _ in StopSignal.state.store(true, ordering: .relaxed) }
    }

    static var isSet: Bool { state.load(ordering: .relaxed) }
  }

  /// Commits one transaction after the other, and says from time to time how long that takes.
  struct TortureLife {
    /// How often it says so.
    private static let interval = Duration.seconds(2)

    var writer: TortureWriter
    /// How many transactions there are in all; nil for no end.
    let limit: Int?
    /// What lies between two.
    let pause: Duration
    private var times: [Duration] = []

    init(writer: TortureWriter, limit: Int?, pause: Duration) {
      self.writer = writer
      self.limit = limit
      self.pause = pause
    }

    /// Goes on until SIGTERM comes or the limit is reached.
    mutating func run() throws {
      StopSignal.listen()
      let clock = ContinuousClock()
      var told = clock.now
      while !StopSignal.isSet, limit.map({ writer.transactionCount < $0 }) ?? true {
        times.append(try clock.measure { try writer.commitNext() })
        if clock.now - told > Self.interval {
          told = clock.now
          say()
        }
        if pause > .zero { Thread.sleep(forTimeInterval: pause / .seconds(1)) }
      }
      say()
    }

    /// Writes a line of figures in microseconds, and forgets them.
    private mutating func say() {
      guard !times.isEmpty else { return }
      times.sort()
      let figures = [times.count / 2, times.count * 99 / 100, times.count - 1].map { Int(times[$0] / .microseconds(1)) }
      print("writer n=\(times.count) p50=\(figures[0]) p99=\(figures[1]) max=\(figures[2])")
      fflush(nil)
      times = []
    }
  }
#endif
