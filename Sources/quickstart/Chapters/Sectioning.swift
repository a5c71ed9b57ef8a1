// Chapter: a sectioned list that follows its data.

import Quire

extension Chapter {
  /// Registers a view, shows the top of some of its groups, and redraws them from a change set alone.
  static let sectioning = Chapter(
    title: "Show: a sectioned list, redrawn from what changed",
    code: """
      let bySection = AutoView(
        "packages.bySection", over: .packages, version: "1",
        group: { $0.section }, sortKey: { Descending($0.installedSize) })
      try await db.register(bySection)

      var mappings = ViewMappings(bySection, groups: groups)
      for group in groups { mappings.window[group] = .fixed(3) }
      try screen.update(&mappings)

      let diff = try screen.advance(&mappings)
      """
  ) { tour in
    let db = try tour.openDatabase()
    let clock = ContinuousClock()
    let start = clock.now

    let bySection = AutoView(
      "packages.bySection", over: .packages, version: "1",
      group: { $0.section }, sortKey: { Descending($0.installedSize) })
    try await db.register(bySection)
    let registration = clock.now - start

    let groups = try await db.read { tx in
      let view = try tx.view(bySection)
      return Array(view.groups.sorted { view.count(in: $0) > view.count(in: $1) }.prefix(2))
    }
    let screen = try db.pin()
    var mappings = ViewMappings(bySection, groups: groups)
    for group in groups { mappings.window[group] = .fixed(3) }
    try screen.update(&mappings)

    var list = try drawn(screen, bySection, mappings)
    let counts = try await screen.read { tx in
      let view = try tx.view(bySection)
      return (groups: view.groupCount, rows: view.count)
    }
    tour.screen.done(
      "\(text(counts.rows)) packages in \(text(counts.groups)) sections", text(registration), "the largest first")
    show(tour, list, mappings)

    // The largest of the second group moves to the first one, and grows.
    guard let moved = list.last?.first?.name, let group = groups.first else { return }
    try await db.write { tx in
      try tx[.packages].update(moved) { package in
        package.section = group
        package.installedSize += 10_000_000
      }
    }
    let change = clock.now
    let diff = try screen.advance(&mappings)
    let time = clock.now - change
    list = try await screen.read { [list, mappings] tx in
      let view = try tx.view(bySection)
      return try diff.applied(to: list) { path in
        guard let package = try view.object(at: path, mappings) else { throw TourError("\(path) shows nothing.") }
        return package
      }
    }
    let isRight = try drawn(screen, bySection, mappings) == list
    guard isRight else { throw TourError("The change set does not lead to what the view shows.") }
    tour.screen.done(
      "\(moved) has moved: \(text(diff.rows.count)) row changes", text(time), "the list redrawn from these alone")
    for change in diff.rows { tour.screen.note("\(change)") }
    show(tour, list, mappings)
  }

  /// What the mappings show, read afresh.
  private static func drawn(
    _ screen: PinnedSnapshot, _ view: AutoView<Package, ImportState>, _ mappings: ViewMappings
  ) throws -> [[Package]] {
    try screen.read { tx in
      let view = try tx.view(view)
      return try (0..<mappings.sectionCount).map { section in
        try (0..<mappings.count(inSection: section)).compactMap { row in
          try view.object(at: ViewPath(section: section, row: row), mappings)
        }
      }
    }
  }

  private static func show(_ tour: Tour, _ list: [[Package]], _ mappings: ViewMappings) {
    for (section, packages) in list.enumerated() {
      let name = mappings.group(ofSection: section) ?? ""
      let rows = packages.map { "\($0.name) \(text($0.installedSize / 1024)) MiB" }
      tour.screen.note("\(name): \(rows.joined(separator: ", "))")
    }
  }
}
