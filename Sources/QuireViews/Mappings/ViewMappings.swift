// From the groups of a view to the sections and rows of a screen.

internal import QuireDatabase

/// Which groups of a view a screen shows as its sections, in which order, and which rows of them.
///
/// ```swift
/// var mappings = ViewMappings(view: "songs.byAlbum", groups: ["a1", "a2"])
/// mappings.hidesEmpty.all = true  // no section for a group without rows
/// mappings.window["a1"] = .fixed(20)  // its first 20 rows only
/// try screen.read { tx in try mappings.update(tx) }  // before anything else
/// let diff = try screen.advance(&mappings)  // from here on, in one step with the pinned snapshot
/// ```
///
/// Mappings are a value: they belong to one screen, stand at one commit, and may be used on any thread and copied at
/// will. Until the first update all counts are 0. A setting takes effect at once, without a change set: set before the
/// first update, or have the screen load anew. Windows and neighbour offsets are kept in the view's own order: set
/// while the group is reversed, they are read as if the rows were in the order shown, and a later reversal shows the
/// same rows the other way round.
///
/// Invariants, which `checkInvariants()` checks:
/// - the range that a group shows lies within its count; one without a window shows all of it;
/// - a flexible window is never longer than its greatest length, and only shorter than its smallest with too few rows;
/// - sections and rows number all that is shown, without gaps, in the order of the groups.
///
/// The guide is <doc:Views>.
public struct ViewMappings: Sendable {
  /// The name that the view is registered under.
  public let viewName: String
  /// The number of the commit that the mappings stand at: nil before the first update.
  public private(set) var csn: UInt64?
  /// Below this number of rows all groups are shown as one section; 0 if never.
  public private(set) var consolidationThreshold = 0
  /// The name of that section; nil if there never is one.
  public private(set) var consolidatedName: String?

  /// No group counts more rows than this, so that no sum of counts can overflow.
  static let largestCount = 1 << 40

  /// How groups are chosen anew at each update; nil when they are fixed.
  private let choice: Choice?
  /// All groups in the order of their sections, as of the last update.
  private(set) var shown: [ShownGroup] = []
  /// Where in `shown` each group stands.
  private var places: [ByteString: Int] = [:]
  /// Sections and first rows of `shown`.
  private(set) var layout = ViewLayout()
  var settings = ViewSettings()
  /// How the view's counts are read.
  var source: ViewSource
  /// The life of the view that the counts are of; nil if the view was not there.
  var life: ExtensionLife?
  /// Where among the commits the mappings stand; nil if what came after it is not kept.
  var position: CommitPosition?

  private struct Choice: Sendable {
    let isIncluded: @Sendable (String) -> Bool
    let areInOrder: @Sendable (String, String) -> Bool
  }

  /// Shows the named groups, each as a section, in this order, of whatever view is registered under the name. A group
  /// that comes twice counts once.
  public init(view name: String, groups: [String]) {
    viewName = name
    source = ViewSource(viewNamed: name)
    choice = nil
    setGroups(groups)
  }

  /// Shows those groups of the view that a closure accepts, in the order that another gives; both are asked at each
  /// update, for all groups that have rows, of whatever view is registered under the name. Groups that neither comes
  /// first of stand in the order of their names.
  public init(
    view name: String,
    where isIncluded: @escaping @Sendable (String) -> Bool = { _ in true },
    orderedBy areInOrder: @escaping @Sendable (String, String) -> Bool = { $0 < $1 }
  ) {
    viewName = name
    source = ViewSource(viewNamed: name)
    choice = Choice(isIncluded: isIncluded, areInOrder: areInOrder)
  }

  /// Whether the groups are chosen anew at each update.
  public var groupsAreDynamic: Bool { choice != nil }

  /// All groups, with or without a section, in order.
  public var groups: [String] { shown.map(\.name) }

  /// Takes note of the view's groups and counts at a commit, without saying what changed.
  ///
  /// Windows stay where they are as far as the new counts allow. O(g log g) for g groups.
  mutating func update(counts: [(group: String, count: Int)], csn: UInt64) {
    regroup(counts: counts, csn: csn)
    settleWindows { _ in nil }
  }

  /// The first half of an update: groups and counts. What is shown of them is settled by the second.
  ///
  /// - Returns: Whether the groups are the same as before.
  @discardableResult
  mutating func regroup(counts: [(group: String, count: Int)], csn: UInt64) -> Bool {
    let areSame = choice.map { !setGroups(Self.chosenGroups($0, of: counts)) } ?? true
    self.csn = csn
    for place in shown.indices { shown[place].count = 0 }
    for (group, count) in counts {
      if let place = place(of: group) { shown[place].count = min(max(count, 0), Self.largestCount) }
    }
    return areSame
  }

  /// The second half: windows, sections and rows.
  ///
  /// - Parameter moved: where the steps of a change have brought the flexible window of a group.
  mutating func settleWindows(moved: (_ group: ByteString) -> Range<Int>?) {
    for place in shown.indices {
      let (name, count) = (shown[place].key, shown[place].count)
      shown[place].range =
        settings.windows.isEmpty
        ? 0..<count : settings.settleWindow(of: name, inCount: count, moved: moved(name))
    }
    assert(
      shown.allSatisfy { $0.range.lowerBound >= 0 && $0.range.upperBound <= $0.count }, "a window leaves its group")
    layOut()
  }

  /// The groups of a view that are to be shown.
  private static func chosenGroups(_ choice: Choice, of counts: [(group: String, count: Int)]) -> [String] {
    let present = counts.filter { $0.count > 0 && choice.isIncluded($0.group) }.map(\.group)
    // The order of bytes first: sorting is stable, so groups that the closure does not tell apart keep it.
    return present.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.sorted(by: choice.areInOrder)
  }

  /// Where in `shown` a group stands; nil for one that is not shown.
  func place(of group: String) -> Int? { places[ByteString(group)] }

  /// Whether the group has a section, or would get one if it had rows.
  func mayShow(_ group: String) -> Bool { choice?.isIncluded(group) ?? false || place(of: group) != nil }

  /// Whether these are other groups than before.
  @discardableResult private mutating func setGroups(_ names: [String]) -> Bool {
    if names.count == shown.count, zip(names, shown).allSatisfy({ $0.hasSameBytes(as: $1.name) }) { return false }
    shown = []
    places = [:]
    for name in names where place(of: name) == nil {
      places[ByteString(name)] = shown.count
      shown.append(ShownGroup(name: name))
    }
    assert(places.count == shown.count, "a group is shown at two places")
    dropImpossibleConsolidation()
    return true
  }

  /// Shows all groups as one section of this name while they show fewer rows than `threshold` together.
  ///
  /// The name must not be that of a group: it is ignored then, also when such a group appears later. 0 switches it off.
  public mutating func consolidate(below threshold: Int, as name: String) {
    consolidationThreshold = max(threshold, 0)
    consolidatedName = name
    dropImpossibleConsolidation()
    assert((consolidatedName == nil) == (consolidationThreshold == 0), "groups are put together under no name")
    layOut()
  }

  private mutating func dropImpossibleConsolidation() {
    guard let name = consolidatedName, consolidationThreshold == 0 || place(of: name) != nil else { return }
    consolidatedName = nil
    consolidationThreshold = 0
  }

  /// Computes windows anew after a setting has changed.
  mutating func resettle(_ group: String) {
    guard csn != nil, let place = place(of: group) else { return }
    shown[place].range = settings.settleWindow(of: ByteString(group), inCount: shown[place].count, moved: nil)
    layOut()
  }

  /// Numbers sections and rows anew.
  mutating func layOut() {
    guard csn != nil else { return }
    layout = ViewLayout(
      shown, hidesEmpty: { settings.hidesEmpty(of: $0.key) }, threshold: consolidationThreshold, name: consolidatedName)
  }

  /// Stops the process if the invariants at the head of the type do not hold.
  func checkInvariants() {
    for group in shown {
      precondition(group.range.lowerBound >= 0 && group.range.upperBound <= group.count, "range of \(group.name)")
      guard let window = settings.windows[group.key]?.current, csn != nil else {
        precondition(csn == nil || group.range == 0..<group.count, "all of \(group.name)")
        continue
      }
      precondition(group.range.count <= max(window.isFlexible ? window.maxLength : window.length, 0), "\(group.name)")
      let shortest = min(max(window.minLength, 0), max(window.maxLength, 0), group.count)
      precondition(!window.isFlexible || group.range.count >= shortest, "\(group.name) is too short")
    }
    layout.checkInvariants(of: shown)
  }
}

/// One group of mappings: how many rows it has and which of them are shown, in the view's order.
struct ShownGroup: Sendable {
  let name: String
  var count = 0
  var range = 0..<0

  /// The name to look things up by.
  var key: ByteString { ByteString(name) }
}
