// Who holds which snapshot.

public import QuireStorage
internal import Synchronization

/// A snapshot that is in use: what keeps pages that were replaced since from being used again.
public struct HeldSnapshot: Sendable, CustomStringConvertible {
  /// What holds it.
  public enum Kind: UInt8, Hashable, Sendable {
    /// A read transaction that runs.
    case read
    /// A pinned snapshot.
    case pin
    /// Work that takes long: a backup or a check.
    case work
  }

  /// What holds it.
  public let kind: Kind
  /// The commit that it shows.
  public let csn: CSN
  /// For how long it has been held, to a few milliseconds; of a pin, since it last advanced.
  public let age: Duration
  /// The name of the connection, if it has one.
  public let connection: String?
  /// Module and file where it was taken; of work that takes long, what it is called.
  public let fileID: String
  /// The line there.
  public let line: Int

  public var description: String {
    let name = connection.map { " on “\($0)”" } ?? ""
    return "\(kind) of commit \(csn.rawValue)\(name), held for \(age), since \(fileID):\(line)"
  }
}

/// What one holder says of its snapshot: a few words that it stores, and that anybody may look at.
///
/// Invariant: while `csn` is not 0, the other words say who holds it. Somebody who looks while they change may see
/// those of the holder before; never anything that is not there.
final class SnapshotHolder: Sendable {
  /// The commit's number plus one; 0 while nothing is held.
  private let csn = Atomic<UInt64>(0)
  private let since = Atomic<UInt64>(0)
  /// The address of the file's name, which is never given back, and ends with a zero.
  private let file = Atomic<UInt>(0)
  /// The line (32 bits), the connection's number (24 bits), and the kind (8 bits).
  private let rest = Atomic<UInt64>(0)
  /// The `since` of the hold that was complained about.
  private let warned = Atomic<UInt64>(0)

  /// Says that a snapshot is held from now on.
  @inline(__always)
  func hold(_ csn: CSN, _ kind: HeldSnapshot.Kind, _ site: CallSite, _ name: ConnectionNumber) {
    assert(self.csn.load(ordering: .relaxed) == 0, "one holder holds two snapshots")
    since.store(MonotonicClock.coarse, ordering: .relaxed)
    file.store(site.fileAddress, ordering: .relaxed)
    let line = UInt64(truncatingIfNeeded: site.line) << 32
    rest.store(line | UInt64(name.rawValue) << 8 | UInt64(kind.rawValue), ordering: .relaxed)
    self.csn.store(csn.rawValue &+ 1, ordering: .releasing)
  }

  /// Says that the snapshot held is a newer one from now on.
  func advance(to csn: CSN) {
    assert((1...csn.rawValue).contains(self.csn.load(ordering: .relaxed)), "a holder goes back, or holds nothing")
    since.store(MonotonicClock.coarse, ordering: .relaxed)
    self.csn.store(csn.rawValue &+ 1, ordering: .releasing)
  }

  /// Says that nothing is held any more.
  @inline(__always) func release() {
    assert(csn.load(ordering: .relaxed) != 0, "a snapshot is let go of that is not held")
    csn.store(0, ordering: .releasing)
  }

  /// What is held, as of `now`.
  func held(_ names: ConnectionNames, now: UInt64) -> HeldSnapshot? {
    let word = csn.load(ordering: .acquiring)
    let (since, file, rest) = (
      since.load(ordering: .acquiring), file.load(ordering: .acquiring), rest.load(ordering: .acquiring)
    )
    guard word != 0, csn.load(ordering: .acquiring) == word else { return nil }
    return HeldSnapshot(
      kind: HeldSnapshot.Kind(rawValue: UInt8(truncatingIfNeeded: rest)) ?? .read, csn: CSN(word - 1),
      age: .nanoseconds(Int64(now - min(since, now))),
      connection: names[ConnectionNumber(rawValue: UInt32(rest >> 8 & 0xff_ffff))],
      fileID: unsafe UnsafePointer<CChar>(bitPattern: file).map { unsafe String(cString: $0) } ?? "",
      line: Int(rest >> 32))
  }

  /// Whether nobody has complained about this hold before.
  func isFirstWarning() -> Bool {
    let since = since.load(ordering: .relaxed)
    return warned.exchange(since, ordering: .relaxed) != since
  }
}

/// A connection's name in one number; 0 for none.
struct ConnectionNumber: Hashable, Sendable {
  let rawValue: UInt32
  static let none = ConnectionNumber(rawValue: 0)
}

/// The names of connections, each with a number that stays.
final class ConnectionNames: Sendable {
  private struct State {
    var names: [String] = []
    var numbers: [String: UInt32] = [:]
  }

  private let state = Latch(State())
  /// Who makes up a name for each connection gets no numbers for further ones.
  private static let limit = 1 << 16

  /// The number of a name.
  func number(of name: String?) -> ConnectionNumber {
    guard let name else { return .none }
    return state.withLock { state in
      if let known = state.numbers[name] { return ConnectionNumber(rawValue: known) }
      guard state.names.count < Self.limit else { return .none }
      state.names.append(name)
      state.numbers[name] = UInt32(state.names.count)
      assert(state.names.count == state.numbers.count && state.names.count <= Self.limit, "a name has two numbers")
      return ConnectionNumber(rawValue: UInt32(state.names.count))
    }
  }

  /// The name of a number.
  subscript(number: ConnectionNumber) -> String? {
    guard number != .none else { return nil }
    return state.withLock { state in
      Int(number.rawValue) <= state.names.count ? state.names[Int(number.rawValue) - 1] : nil
    }
  }
}

/// All holders of one database.
final class SnapshotHolders: Sendable {
  let names = ConnectionNames()
  private let holders = Latch<[SnapshotHolder]>([])

  /// A new holder, which nobody has forgotten before `remove`.
  func add() -> SnapshotHolder {
    let holder = SnapshotHolder()
    holders.withLock { $0.append(holder) }
    return holder
  }

  /// Forgets a holder.
  func remove(_ holder: SnapshotHolder) {
    holders.withLock { holders in
      assert(holders.count { $0 === holder } == 1, "a holder is forgotten twice")
      holders.removeAll { $0 === holder }
    }
  }

  /// All that are in use, the oldest first.
  func held() -> [(holder: SnapshotHolder, snapshot: HeldSnapshot)] {
    let now = MonotonicClock.coarse
    return holders.withLock { $0 }.compactMap { holder in holder.held(names, now: now).map { (holder, $0) } }
      .sorted { ($0.snapshot.csn, $1.snapshot.age) < ($1.snapshot.csn, $0.snapshot.age) }
  }
}
