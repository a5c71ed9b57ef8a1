// The views of a random life, and what of them changes while it goes on.

import QuireDatabase
import Synchronization

@testable import QuireViews

/// How the views group, sort and filter. Stored in the database beside the rows, so that whatever undoes a change of
/// the views, undoes this.
struct ViewSettings: Codable, Sendable, Equatable {
  var grouping = ["keyed": 0, "compared": 0]
  /// 0 to 2 sort by keys, 3 to 5 by comparing.
  var sorting = ["keyed": 0, "compared": 3]
  var filter = ["even": 0, "few": 1, "favourites": 0, "part": 0, "others": 0, "fresh": 0]
  var version: [String: Int] = [:]

  func versionText(_ name: String) -> String { "v\(version[name] ?? 0)" }

  /// The groups of the lists that are grouped by the object.
  static func group(_ choice: Int, _ item: Item) -> String? {
    switch choice {
    case 0: item.group
    case 1: item.group ?? "none"
    case 2: "r\(item.rank % 3)"
    default: item.group == "a" ? nil : item.group
    }
  }

  static func grouping(_ choice: Int, _ trap: Trap) -> ViewGrouping<Item, Int> {
    choice % 2 == 0
      ? .byObject { item in try trap.passing(group(choice, item)) }
      : .byRow { row in try trap.passing(group(choice, row.object)) }
  }

  /// The order of the lists that are sorted by the object; rows that it does not tell apart may stand in any order if
  /// they are compared, and stand in that of their ids otherwise.
  static func isBefore(_ choice: Int, _ left: (Item, String), _ right: (Item, String)) -> Bool {
    switch choice % 3 {
    case 0: left.0.rank < right.0.rank
    case 1: left.0.rank > right.0.rank
    default: left.1.utf8.lexicographicallyPrecedes(right.1.utf8)
    }
  }

  static func sorting(_ choice: Int, _ trap: Trap) -> ViewSorting<Item, Int> {
    switch choice {
    case 0: .byObject { item in try trap.passing(item.rank) }
    case 1: .byObject { Descending($0.rank) }
    case 2: .byKey()
    default:
      .byRow { _, left, right in
        try trap.passing(isBefore(choice, (left.object, left.key), (right.object, right.key)))
      }
    }
  }

  static func isEven(_ choice: Int, _ item: Item) -> Bool {
    choice < 2 ? item.rank % 2 == choice : choice == 2
  }
  static func isFew(_ choice: Int, _ metadata: Int?) -> Bool { (metadata ?? 0) % 5 == choice }
  static func isFavourite(_ choice: Int, _ item: Item) -> Bool { choice == 0 ? item.group != nil : item.rank > choice }
  static func isPart(_ choice: Int, _ group: String, _ metadata: Int?) -> Bool {
    (metadata ?? 0) % (group == "all" ? 2 : 3) == choice
  }

  static func filter(even choice: Int, _ trap: Trap) -> ViewFilter<Item, Int> {
    .byObject { item in try trap.passing(isEven(choice, item)) }
  }
  static func filter(few choice: Int) -> ViewFilter<Item, Int> { .byMetadata { isFew(choice, $0) } }
  static func filter(favourites choice: Int) -> ViewFilter<Item, Int> {
    .byRow(.object) { _, row in try isFavourite(choice, row.object) }
  }
  static func filter(part choice: Int) -> ViewFilter<Item, Int> {
    .byRow(.metadata) { group, row in try isPart(choice, group, row.metadata) }
  }
}

extension RowCollection where Object == ViewSettings, Metadata == Int {
  static var settings: Self { .init("settings") }
}

/// Makes a closure of the views throw, if it is set.
final class Trap: Sendable {
  struct Sprung: Error {}

  private let rest = Mutex<Int?>(nil)

  /// After how many more calls of closures the next one throws; nil for never.
  func set(_ count: Int?) { rest.withLock { $0 = count } }

  func passing<Result>(_ result: Result) throws -> Result {
    let isSprung = rest.withLock { rest in
      guard let count = rest else { return false }
      rest = count == 0 ? nil : count - 1
      return count == 0
    }
    if isSprung { throw Sprung() }
    return result
  }
}

/// The descriptions of the views.
struct ModelViews {
  /// Each comes after the one that it shows rows of.
  static let names = [
    "keyed", "compared", "several", "list", "even", "few", "favourites", "part", "others", "fresh",
  ]

  let trap: Trap
  let keyed: AutoView<Item, Int>
  let compared: AutoView<Item, Int>
  let several: AutoView<Item, Int>
  let list: ManualView<Item, Int>
  let even: FilteredView<AutoView<Item, Int>>
  let few: FilteredView<FilteredView<AutoView<Item, Int>>>
  let favourites: FilteredView<ManualView<Item, Int>>
  let part: FilteredView<AutoView<Item, Int>>
  /// Of one of the parent's collections.
  let others: FilteredView<AutoView<Item, Int>>
  /// Of rows to come.
  let fresh: FilteredView<AutoView<Item, Int>>

  init(_ settings: ViewSettings, _ collections: ItemCollections, isPersistent: Bool, _ trap: Trap) {
    self.trap = trap
    let both: [RowCollection<Item, Int>] = [.items(collections.items), .items(collections.others)]
    func auto(_ name: String) -> AutoView<Item, Int> {
      AutoView(
        name, over: both, version: settings.versionText(name), isPersistent: isPersistent,
        grouping: ViewSettings.grouping(settings.grouping[name] ?? 0, trap),
        sorting: ViewSettings.sorting(settings.sorting[name] ?? 0, trap))
    }
    keyed = auto("keyed")
    compared = auto("compared")
    several = AutoView(
      "several", over: [.items(collections.items)], isPersistent: isPersistent,
      grouping: .severalByRow { row in try ["all"] + (row.metadata.map { ["m\($0 % 3)", "all"] } ?? []) },
      sorting: .byMetadata { $0 })
    list = ManualView("list", over: both, isPersistent: isPersistent)
    func choice(_ name: String) -> Int { settings.filter[name] ?? 0 }
    even = FilteredView(
      "even", of: compared, version: settings.versionText("even"), isPersistent: isPersistent,
      filter: ViewSettings.filter(even: choice("even"), trap))
    few = FilteredView(
      "few", of: even, version: settings.versionText("few"), isPersistent: isPersistent,
      filter: ViewSettings.filter(few: choice("few")))
    favourites = FilteredView(
      "favourites", of: list, version: settings.versionText("favourites"), isPersistent: isPersistent,
      filter: ViewSettings.filter(favourites: choice("favourites")))
    part = FilteredView(
      "part", of: several, version: settings.versionText("part"), isPersistent: isPersistent,
      filter: ViewSettings.filter(part: choice("part")))
    others = FilteredView(
      "others", of: compared, version: settings.versionText("others"), isPersistent: isPersistent,
      collections: .only([collections.others]), filter: ViewSettings.filter(few: choice("others")))
    fresh = FilteredView(
      "fresh", of: keyed, version: settings.versionText("fresh"), isPersistent: isPersistent,
      takesExistingRows: false, filter: ViewSettings.filter(even: choice("fresh"), trap))
  }

  /// The view of a name.
  func view(_ name: String) -> any ViewExtension<Item, Int> {
    switch name {
    case "keyed": keyed
    case "compared": compared
    case "several": several
    case "list": list
    case "even": even
    case "few": few
    case "favourites": favourites
    case "part": part
    case "others": others
    default: fresh
    }
  }

  /// What those of some names show.
  func shown(_ tx: ReadTransaction, _ names: Set<String>) throws -> [String: Shown] {
    var shown: [String: Shown] = [:]
    for name in names { shown[name] = try reader(view(name), tx).shown() }
    return shown
  }

  /// Throws if the trees of one do not fit each other.
  func checkInvariants(_ tx: ReadTransaction, _ names: Set<String>) throws {
    for name in names { try reader(view(name), tx).trees.checkInvariants() }
  }

  private func reader(_ view: some ViewExtension<Item, Int>, _ tx: ReadTransaction) throws -> ViewReader<Item, Int> {
    try tx.view(view)
  }

  /// Changes what one view makes of the rows, and tells `settings`. With `isSame`, gives a version that it has.
  func change(
    _ name: String, _ tx: WriteTransaction, _ settings: inout ViewSettings, version: Int, choices: (Int, Int),
    isSame: Bool
  ) throws -> Bool {
    let old = settings
    settings.version[name] = isSame ? settings.version[name] ?? 0 : version
    let text = settings.versionText(name)
    let isChanged: Bool
    switch name {
    case "keyed", "compared":
      let writer = try tx.access(to: name == "keyed" ? keyed : compared)
      settings.sorting[name] = choices.1 % 6
      let sorting = ViewSettings.sorting(choices.1 % 6, trap)
      if choices.0 == 0 {
        isChanged = try writer.setSorting(sorting, version: text)
      } else {
        settings.grouping[name] = choices.0 % 4
        let grouping = ViewSettings.grouping(choices.0 % 4, trap)
        isChanged = try writer.setGrouping(grouping, sorting: sorting, version: text)
      }
    case "even":
      settings.filter[name] = choices.0 % 4
      isChanged = try tx.access(to: even).setFilter(ViewSettings.filter(even: choices.0 % 4, trap), version: text)
    case "fresh":
      settings.filter[name] = choices.0 % 4
      isChanged = try tx.access(to: fresh).setFilter(ViewSettings.filter(even: choices.0 % 4, trap), version: text)
    case "few", "others":
      settings.filter[name] = choices.0 % 5
      let filter = ViewSettings.filter(few: choices.0 % 5)
      isChanged =
        name == "few"
        ? try tx.access(to: few).setFilter(filter, version: text)
        : try tx.access(to: others).setFilter(filter, version: text)
    case "part":
      settings.filter[name] = choices.0 % 2
      isChanged = try tx.access(to: part).setFilter(ViewSettings.filter(part: choices.0 % 2), version: text)
    default:
      settings.filter[name] = choices.0 % 6
      isChanged = try tx.access(to: favourites).setFilter(ViewSettings.filter(favourites: choices.0 % 6), version: text)
    }
    if !isChanged { settings = old }
    return isChanged
  }
}
