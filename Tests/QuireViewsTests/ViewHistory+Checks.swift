// What the views of a random life show, against all rows; and its ends and beginnings.

import QuireDatabase
import QuireTesting
import Testing

@testable import QuireViews

extension ViewHistory {
  // MARK: Live changes

  /// Makes one of the views group, sort or filter otherwise.
  func changeViews(_ tx: WriteTransaction) throws {
    var settings = try tx[.settings].get("now") ?? ViewSettings()
    let name = ["keyed", "compared", "even", "few", "favourites", "part", "others", "fresh"][random.below(8)]
    guard names.contains(name) else { return }
    lastVersion += 1
    let isSame = random.oneIn(8)
    let isChanged = try views.change(
      name, tx, &settings, version: lastVersion, choices: (random.below(12), random.below(12)), isSame: isSame)
    #expect(isChanged == !isSame)
    counts[isSame ? "same version" : "live", default: 0] += 1
    try tx[.settings].set(settings, for: "now")
    try follow(tx, judged: nil, all: name == "fresh" && isChanged)
  }

  // MARK: Ends

  /// Ends this opening, and begins another. Views that are stored come back as they were, and are not built anew.
  func reopen(isCrash: Bool) throws {
    counts[isCrash ? "crashed" : "reopened", default: 0] += 1
    pin = nil
    endScreens()
    if isCrash {
      if random.oneIn(2) { try db.checkpoint() }
      let image = disk.crashImage(.random(random.next()))
      try db.close()
      disk = image
    } else {
      try db.close()
    }
    let former = collections
    if random.oneIn(5) { rename() }
    let isRetyped = try random.oneIn(5) && writeAsNewer()
    db = try openSimulated(disk, seed: random.next(), renamed: collections.former)
    try db.checkInvariants()
    let wasRegistered = names
    names = []
    try takeSettings()
    let before = shown
    let isLate = isRetyped || random.oneIn(3)
    if isLate { try writeBeforeRegistering() }
    for name in ModelViews.names { try register(name, mayBuild: isLate || !wasRegistered.contains(name)) }
    try begin()
    if isPersistent, !isCrash, !isLate, former == collections, !before.allSatisfy({ shown[$0] == $1 }) {
      throw ModelError("stored views came back changed, step \(steps) of seed \(seed)")
    }
  }

  /// The pinned snapshot shows what it showed, whatever became of the views since.
  func expectPin() throws {
    if let pin, try pin.read({ tx in try pinned.views.shown(tx, pinned.names) }) != shown {
      throw ModelError("an old snapshot shows other rows, step \(steps) of seed \(seed)")
    }
  }

  // MARK: Contents

  /// Views show what grouping, sorting and filtering make of all rows.
  func check() throws {
    try db.read { tx throws in
      let settings = try tx[.settings].get("now") ?? ViewSettings()
      var rows: [ModelRow] = []
      for name in [self.collections.items, self.collections.others] {
        for row in tx[.items(name)].rows {
          rows.append(ModelRow(key: RowKey(name, row.key), rowID: row.rowID, item: row.object, metadata: row.metadata))
        }
      }
      let now = try self.views.shown(tx, self.names)
      try self.checkList(tx, now)
      try self.checkSorted("keyed", now, rows, settings)
      try self.checkSorted("compared", now, rows, settings)
      try self.expect(
        "several", now,
        grouped(rows.filter { $0.key.collection == self.collections.items }) {
          ["all"] + ($0.metadata.map { ["m\($0 % 3)"] } ?? [])
        } by: {
          ($0.metadata ?? -1, $0.rowID) < ($1.metadata ?? -1, $1.rowID)
        })
      try self.checkFiltered(tx, now, rows, settings)
      try self.views.checkInvariants(tx, self.names)
      // Positions lead back.
      guard self.names.contains("keyed") else { return }
      let reader = try tx.view(self.views.keyed)
      if let (group, keys) = now["keyed"]?.min(by: { $0.key < $1.key }) {
        let key = keys[self.random.below(keys.count)]
        let position = try reader.position(of: key)
        #expect(position?.group == group && position.map { keys[$0.index] } == key)
        #expect(try reader.rowKey(at: keys.count, in: group) == nil && reader.rowKey(at: -1, in: group) == nil)
      }
    }
  }

  func expect(_ name: String, _ now: [String: Shown], _ expected: Shown) throws {
    guard let shown = now[name], shown != expected else { return }
    throw ModelError("\(name) shows other rows, step \(steps) of seed \(seed)")
  }

  /// A list that is grouped and sorted as the settings say.
  private func checkSorted(
    _ name: String, _ now: [String: Shown], _ rows: [ModelRow], _ settings: ViewSettings
  ) throws {
    let (group, sort) = (settings.grouping[name] ?? 0, settings.sorting[name] ?? 0)
    let isBefore: (ModelRow, ModelRow) -> Bool = {
      ViewSettings.isBefore(sort, ($0.item, $0.key.key), ($1.item, $1.key.key))
    }
    let expected = grouped(rows) {
      ViewSettings.group(group, $0.item).map { [$0] } ?? []
    } by: {
      isBefore($0, $1) || !isBefore($1, $0) && $0.rowID < $1.rowID
    }
    if sort < 3 { return try expect(name, now, expected) }
    guard names.contains(name) else { return }
    // Rows that are not told apart stand in any order.
    let known = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0) })
    for (group, keys) in now[name] ?? [:] {
      let found = keys.compactMap { known[$0] }
      guard zip(found, found.dropFirst()).allSatisfy({ !isBefore($1, $0) }), found.count == keys.count,
        Set(keys) == Set(expected[group] ?? [])
      else { throw ModelError("\(name) shows other rows, step \(steps) of seed \(seed)") }
    }
    #expect(Set(now[name, default: [:]].keys) == Set(expected.keys))
  }

  /// The filtered views, which show what their parents show.
  private func checkFiltered(
    _ tx: ReadTransaction, _ now: [String: Shown], _ rows: [ModelRow], _ settings: ViewSettings
  ) throws {
    let known = Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0) })
    func filtered(_ parent: String, _ isIncluded: (String, ModelRow) -> Bool) -> Shown {
      var shown: Shown = [:]
      for (group, keys) in now[parent] ?? [:] {
        let passing = keys.filter { key in known[key].map { isIncluded(group, $0) } ?? true }
        if !passing.isEmpty { shown[group] = passing }
      }
      return shown
    }
    func choice(_ name: String) -> Int { settings.filter[name] ?? 0 }
    try expect("even", now, filtered("compared") { ViewSettings.isEven(choice("even"), $1.item) })
    try expect("few", now, filtered("even") { ViewSettings.isFew(choice("few"), $1.metadata) })
    try expect("favourites", now, filtered("list") { ViewSettings.isFavourite(choice("favourites"), $1.item) })
    try expect("part", now, filtered("several") { ViewSettings.isPart(choice("part"), $0, $1.metadata) })
    try expect(
      "others", now,
      filtered("compared") {
        $1.key.collection == collections.others && ViewSettings.isFew(choice("others"), $1.metadata)
      })
    let fresh = try fresh(tx).groups.mapValues { Set($0) }
    let shown = filtered("keyed") { fresh[$0]?.contains($1.rowID.rawValue) ?? false }
    if names.contains("fresh"), !shown.isEmpty { counts["fresh: shown", default: 0] += 1 }
    try expect("fresh", now, shown)
  }
}
