// What mappings are told about single groups.

internal import QuireDatabase

/// The settings of mappings by group, in the view's own order of rows; kept also for groups that are not there yet.
struct ViewSettings: Sendable {
  /// A window, and whether it has shown a row since it was set. Until then it starts by the length and offset that it
  /// was set with, so that a group that comes later starts as wished.
  struct Window: Sendable {
    var current: ViewWindow
    var hasStarted = false
  }

  private(set) var windows: [ByteString: Window] = [:]
  private(set) var reversed: Set<ByteString> = []
  private(set) var neighbours: [ByteString: Set<Int>] = [:]
  private var hidesEmpty: [ByteString: Bool] = [:]
  private(set) var hidesAllEmpty = false

  /// Whether the group has no section while it shows no row.
  func hidesEmpty(of group: ByteString) -> Bool { hidesEmpty[group] ?? hidesAllEmpty }

  mutating func setHidesEmpty(_ hides: Bool, of group: ByteString) { hidesEmpty[group] = hides }

  mutating func setHidesAllEmpty(_ hides: Bool) {
    hidesEmpty = [:]
    hidesAllEmpty = hides
  }

  mutating func setReversed(_ isReversed: Bool, of group: ByteString) {
    if isReversed { reversed.insert(group) } else { reversed.remove(group) }
  }

  func window(of group: ByteString) -> ViewWindow? {
    guard let window = windows[group]?.current else { return nil }
    return reversed.contains(group) ? window.reversed : window
  }

  mutating func setWindow(_ window: ViewWindow?, of group: ByteString) {
    windows[group] = window.map { Window(current: reversed.contains(group) ? $0.reversed : $0) }
  }

  func neighbourOffsets(of group: ByteString) -> Set<Int> {
    let offsets = neighbours[group] ?? []
    return reversed.contains(group) ? Set(offsets.map { -$0 }) : offsets
  }

  mutating func setNeighbourOffsets(_ offsets: Set<Int>, of group: ByteString) {
    // The lowest integer has no opposite, and a row is no neighbour of its own.
    let usable = offsets.filter { $0 != 0 && $0 != .min }
    let own = reversed.contains(group) ? Set(usable.map { -$0 }) : usable
    neighbours[group] = own.isEmpty ? nil : own
  }

  /// The range that a group of so many rows shows. A flexible window remembers it.
  ///
  /// - Parameter moved: where the steps of a change have brought a window that has started.
  mutating func settleWindow(of group: ByteString, inCount count: Int, moved: Range<Int>?) -> Range<Int> {
    guard var window = windows[group] else { return 0..<count }
    guard window.current.isFlexible else { return window.current.range(inCount: count) }
    let range = window.current.limited(moved ?? window.current.range(inCount: count), inCount: count)
    window.hasStarted = window.hasStarted || !range.isEmpty
    if window.hasStarted {
      window.current.length = range.count
      window.current.offset = window.current.pin == .beginning ? range.lowerBound : count - range.upperBound
      windows[group] = window
    }
    return range
  }
}
