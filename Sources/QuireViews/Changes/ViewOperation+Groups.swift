// What steps tell without computing a diff.

public import QuireDatabase

extension ViewOperation {
  /// The group that the step changes.
  public var group: String {
    switch self {
    case .insertGroup(let group), .removeGroup(let group), .resetGroup(let group, _): group
    case .insert(_, let group, _), .remove(_, let group, _), .update(_, let group, _, _): group
    }
  }

  /// The row that the step names; nil for a step of a whole group.
  public var key: RowKey? {
    switch self {
    case .insertGroup, .removeGroup, .resetGroup: nil
    case .insert(let key, _, _), .remove(let key, _, _), .update(let key, _, _, _): key
    }
  }
}

extension Sequence where Element == ViewOperation {
  /// Whether any step changes a group. Cheap: looks at names only, and ends at the first.
  public func hasChanges(in group: String) -> Bool { contains { $0.group.hasSameBytes(as: group) } }

  /// Whether any step changes one of the groups.
  public func hasChanges(in groups: some Sequence<String>) -> Bool {
    let names = Set(groups.map(ByteString.init))
    return contains { names.contains(ByteString($0.group)) }
  }

  /// Whether any step changes a group that the mappings show, or would show if their groups are dynamic.
  ///
  /// False means that an advance yields no change; true, that it may. Closures that choose dynamic groups have to go by
  /// the name alone for that.
  public func hasChanges(for mappings: ViewMappings) -> Bool {
    contains { mappings.mayShow($0.group) }
  }
}
