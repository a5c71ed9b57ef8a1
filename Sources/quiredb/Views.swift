// quiredb views: what is stored of views.

import ArgumentParser
import QuireDatabase
import QuireViews

/// Lists views, their groups, or the rows of a group.
struct Views: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the views of a database; of one, its groups, or the rows of a group. Changes nothing.",
    discussion: """
      What is shown is what is stored: no closure of the app's is needed. A view that is out of date is shown as it \
      was when the app registered it last; rows that have gone since are shown by their numbers.
      """)

  @OptionGroup var database: LiveArgument
  @Argument(help: "The view; all if left out.") var view: String?
  @Option(help: "The rows of this group, in their order.") var group: String?
  @Option(help: "At most so many rows.") var limit = 100
  @Option(help: "The number of rows to pass over.") var offset = 0
  @Flag(help: "One JSON record per line.") var json = false

  func validate() throws {
    if limit < 0 || offset < 0 { throw ValidationError("--limit and --offset must not be negative.") }
    if group != nil, view == nil { throw ValidationError("--group is of one view: give its name.") }
  }

  func run() throws {
    try reading(database) { tx in
      let views = try chosen(try tx.storedViews(), view, "view", database.file) { $0.status.name }
      var output = StandardOutput()
      defer { output.flush() }
      if let group, let view = views.first { return try showRows(of: group, view, &output) }
      if views.isEmpty, !json { output.append("no views") }
      for one in views {
        output.append(json ? summary(one).json : Self.line(one))
        if view != nil || !json { try showGroups(of: one, &output) }
      }
    }
  }

  private static func line(_ view: StoredView) -> String {
    let status = view.status
    let kind =
      switch view.kind {
      case .auto: ""
      case .manual: ", arranged by hand"
      case .filtered(let parent): ", of the rows of “\(shown(parent))”"
      case .found(let search): search.map { ", of what is found by “\(shown($0))”" } ?? ", of what a search finds"
      }
    let of = view.collections.map { ", of \($0.map { "“\(shown($0))”" }.joined(separator: ", "))" } ?? ""
    return "\(shown(status.name))  version “\(shown(status.version))”\(of)\(kind)\(shown(status.state))"
  }

  private func summary(_ view: StoredView) -> RowValue {
    let status = view.status
    var fields: [RowValue.Field] = [
      .init("view", .text(status.name)), .init("version", .text(status.version)), .init("state", name(status.state)),
      .init("collections", view.collections.map { .list($0.map { .text($0) }) } ?? nil),
      .init("rows", count(view.count)),
    ]
    switch view.kind {
    case .auto: fields.append(.init("kind", "auto"))
    case .manual: fields.append(.init("kind", "manual"))
    case .filtered(let parent): fields += [.init("kind", "filtered"), .init("parent", .text(parent))]
    case .found(let search):
      fields += [.init("kind", "found"), .init("search", search.map { .text($0) } ?? nil)]
    }
    return .record(fields)
  }

  /// A view’s groups; of a list of views those of each that come first.
  private func showGroups(of one: StoredView, _ output: inout StandardOutput) throws {
    let groups = try one.groups()
    let few = view == nil ? groups.prefix(10) : groups[...]
    for group in few {
      let record: RowValue = ["group": .text(group.name), "rows": count(group.rows)]
      output.append(json ? record.json : "\(aligned(group.rows, 12))  \(shown(group.name))")
    }
    if few.count < groups.count {
      output.append("              … \(groups.count) groups: `quiredb views \(database.file) NAME` shows all")
    }
  }

  private func showRows(of group: String, _ view: StoredView, _ output: inout StandardOutput) throws {
    guard try view.count(in: group) != nil else {
      complain("the view “\(shown(view.status.name))” of \(database.file) has no group “\(shown(group))”.")
      throw ExitCode.failure
    }
    var index = offset
    guard limit > 0 else { return }
    try view.forEachRow(in: group, offset: offset) { row in
      if json {
        var fields: [RowValue.Field] = [.init("index", count(index)), .init("row", count(row.rowID.rawValue))]
        if let key = row.key { fields += [.init("collection", .text(key.collection)), .init("key", .text(key.key))] }
        output.append(RowValue.record(fields).json)
      } else {
        let key = row.key.map { "\(shown($0.collection))  \(shown($0.key))" }
        output.append("\(aligned(index, 12))  \(key ?? "row \(row.rowID.rawValue), which is no more")")
      }
      index += 1
      return index - offset < limit
    }
  }
}
