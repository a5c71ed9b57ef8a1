// Values that somebody observes: from the commit to the callback.

internal import Foundation
internal import QuireDatabase
internal import Synchronization

/// A store whose values can be observed.
protocol ObservedStore: AnyObject {
  static var name: String { get }
  /// Opens the store in an existing folder and stores a 0 in each of `count` rows; commits wait for the system only.
  init(_ folder: String, count: Int) throws
  /// Has `body` called with the value of row `index`, at first and whenever it changes; the store may drop what is
  /// older than the newest value.
  func observe(_ index: Int, _ body: @escaping @Sendable (Int) -> Void)
  /// Stores a value in one row.
  func set(_ index: Int, _ value: Int) throws
  /// Ends all observations.
  func stop()
  func close() throws
}

/// Observations of Quire, each in a task of its own.
final class QuireObservedStore: ObservedStore {
  static var name: String { "quire" }
  private let db: Database
  private var tasks: [Task<Void, Never>] = []
  private static let values = RowCollection<Int, NoMetadata>("values", compression: .none)

  init(_ folder: String, count: Int) throws {
    db = try Database(at: "\(folder)/values.quire", options: Database.Options(durability: .relaxed))
    try db.write { tx throws in for index in 0..<count { try tx[Self.values].set(0, for: "v\(index)") } }
  }

  func observe(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let key = "v\(index)"
    let values = db.observe { tx in try tx[Self.values].get(key) ?? -1 }
    tasks.append(
      Task.detached {
        do { for try await value in values { body(value) } } catch { body(-2) }
      })
  }

  func set(_ index: Int, _ value: Int) throws {
    try db.write { tx throws in try tx[Self.values].set(value, for: "v\(index)") }
  }

  func stop() {
    for task in tasks { task.cancel() }
    tasks = []
  }

  func close() throws { try db.close() }
}

/// What observers have heard of, and waiting for it.
final class Arrivals: Sendable {
  private struct State {
    var values: [Int: Int] = [:]
    /// What is waited for: the observers that have not got `value` yet.
    var missing: Set<Int> = []
    var value = 0
  }
  private let state = Mutex(State())
  private let allCame = DispatchSemaphore(value: 0)

  /// Notes a value of an observer.
  func note(_ index: Int, _ value: Int) {
    let isLast = state.withLock { state in
      state.values[index] = value
      guard value == state.value, state.missing.remove(index) != nil else { return false }
      return state.missing.isEmpty
    }
    if isLast { allCame.signal() }
  }

  /// Waits until every one of `indices` has `value`, for twenty seconds at the most.
  func await(_ indices: Range<Int>, _ value: Int) throws {
    let isThere = state.withLock { state in
      state.value = value
      state.missing = Set(indices.filter { state.values[$0] != value })
      return state.missing.isEmpty
    }
    if isThere { return }
    guard allCame.wait(timeout: .now() + 20) == .success else {
      let missing = state.withLock { $0.missing.count }
      throw StoreFailure(description: "\(missing) observers have not heard of \(value)")
    }
  }
}

extension ObjectsRun {
  func measureObservers() throws {
    var stores: [any ObservedStore.Type] = [QuireObservedStore.self]
    #if PEER_GRDB
      stores.append(GRDBObservedStore.self)
    #endif
    let many = isCheck ? 50 : 1000
    for run in 0..<runs {
      for type in turns(stores, run, named: { $0.name }) {
        try withFolder { try measure(type, $0, observers: 1, title: "") }
        try withFolder { try measure(type, $0, observers: many, title: ", one of \(many) observers") }
        try withFolder { try measureAll(type, $0, observers: many) }
      }
    }
  }

  /// From the call of the write to the callback of the one observer that it concerns.
  private func measure(_ type: any ObservedStore.Type, _ folder: String, observers: Int, title: String) throws {
    let store = try type.init(folder, count: observers)
    let arrivals = Arrivals()
    for index in 0..<observers { store.observe(index) { arrivals.note(index, $0) } }
    try arrivals.await(0..<observers, 0)
    try settle()
    var (times, commits): ([Double], [Double]) = ([], [])
    for round in 1...self.times(200) {
      let index = round * 7919 % observers
      let start = Clocks.wall()
      try store.set(index, round)
      commits.append(Double(Clocks.wall() - start) / 1000)
      try arrivals.await(index..<index + 1, round)
      times.append(Double(Clocks.wall() - start) / 1000)
    }
    store.stop()
    add("commit to callback\(title)", "µs", type.name, median(times))
    add("the write alone\(title)", "µs", type.name, median(commits))
    try store.close()
  }

  /// From the call of the write to the last callback of many observers of one row.
  private func measureAll(_ type: any ObservedStore.Type, _ folder: String, observers: Int) throws {
    let store = try type.init(folder, count: 1)
    let arrivals = Arrivals()
    for index in 0..<observers { store.observe(0) { arrivals.note(index, $0) } }
    try arrivals.await(0..<observers, 0)
    try settle()
    var times: [Double] = []
    for round in 1...self.times(20) {
      let start = Clocks.wall()
      try store.set(0, round)
      try arrivals.await(0..<observers, round)
      times.append(Double(Clocks.wall() - start) / 1000)
    }
    store.stop()
    add("commit to the last of \(observers) callbacks", "µs", type.name, median(times))
    try store.close()
  }
}
