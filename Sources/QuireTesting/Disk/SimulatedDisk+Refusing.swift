// What apps' tests have a disk do: refuse a call, refuse some, and take its time.

internal import QuireStorage

extension SimulatedDisk {
  /// A call to the disk that can be refused.
  public enum Call: Sendable, Hashable, CaseIterable {
    /// A file is opened or created.
    case open
    /// Bytes are read.
    case read
    /// Bytes are written.
    case write
    /// A file is given room on the disk before it is written.
    case grow
    /// What was written is made durable. If that is refused, it can be read as long as the power is on, and is gone
    /// after a power cut: later syncs do not write it, as the kernel counts it as clean.
    case sync

    /// The call as the disk counts it.
    package var kind: OperationKind {
      switch self {
      case .open: .open
      case .read: .read
      case .write: .write
      case .grow: .allocate
      case .sync: .synchronize
      }
    }
  }

  /// How a call is refused.
  public enum Refusal: Sendable, Hashable, CaseIterable {
    /// The medium fails (EIO).
    case inputOutput
    /// There is no space (ENOSPC).
    case noSpace

    /// What becomes of the call.
    package func effect(on call: Call) -> FaultEffect {
      let code = self == .noSpace ? SystemCode.noSpace : SystemCode.inputOutput
      return call == .sync ? .failedSync(.forgets, code, survivorsOneIn: 0) : .error(code)
    }
  }

  /// Refuses the next call of a kind, after letting some of them pass.
  ///
  /// ```swift
  /// disk.refuse(.sync, after: 2)  // the third sync from now on fails
  /// ```
  ///
  /// What a database says then: `diskFull` and `inputOutput` leave everything as it was; after a failed sync, and
  /// after some failed writes, it writes nothing any more (`failStop`) until it is opened again.
  public func refuse(_ call: Call, after passedCount: Int = 0, with refusal: Refusal = .inputOutput) {
    failNext(call.kind, skipping: passedCount, with: refusal.effect(on: call))
  }

  /// Refuses calls at random from now on: which kinds of failures there are and how often they strike is drawn from the
  /// seed, and some seeds are calm. Short transfers and interrupted calls are among them, which nobody notices.
  public func refuseAtRandom(seed: UInt64) {
    setFaultPlan(FaultPlan(seed: seed, allowing: FaultKind.allCases.filter { $0 != .badSector }))
  }

  /// Makes one call in so many wait before the disk does it, drawn from the seed, so that the calls of other threads
  /// come in between.
  public func slowDown(seed: UInt64, oneIn count: Int, upTo longest: Duration) {
    let (seconds, attoseconds) = longest.components
    let microseconds = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
    pause(DiskPauses(seed: seed, oneIn: max(1, count), longestMicroseconds: max(0, microseconds)))
  }

  /// Does every call again, and at once: takes back what `refuse`, `refuseAtRandom` and `slowDown` have asked for.
  public func recover() {
    removeFaults()
    removeInterceptors()
  }
}
