// Conditions on rows, as values.

internal import QuireDatabase

/// A condition on rows of a collection: made of comparisons of fields, `&&`, `||` and `!`.
///
/// ```swift
/// tx[.songs].find { $0.year == 1990 && ($0.rating >= 3.5 || $0.tags.contains("jazz")) }
/// ```
///
/// Values are compared as `SortKey` orders them: texts by their UTF-8 bytes. A nil, and a value of metadata that are
/// not there, is equal to nil alone, and neither below nor above any value; so is what is not a number, which is equal
/// to nothing.
public struct Condition<Object: Sendable, Metadata: Sendable>: Sendable {
  let node: ConditionNode

  init(_ node: ConditionNode) { self.node = node }

  /// Every row.
  public static var all: Self { Self(.all) }
  /// No row.
  public static var none: Self { Self(.none) }

  /// The rows that a closure lets through: for what fields cannot say. No index serves it, and each row that the rest
  /// of the condition leaves is decoded.
  public static func closure(_ body: @escaping @Sendable (Object, Metadata?) throws -> Bool) -> Self {
    Self(.closure(ClosureTest(body)))
  }

  /// Both.
  public static func && (left: Self, right: @autoclosure () throws -> Self) rethrows -> Self {
    Self(ConditionNode.both(left.node, try right().node))
  }

  /// Either, or both.
  public static func || (left: Self, right: @autoclosure () throws -> Self) rethrows -> Self {
    Self(ConditionNode.either(left.node, try right().node))
  }

  /// Not.
  public static prefix func ! (condition: Self) -> Self { Self(condition.node.negated) }
}

/// A condition without the types of the rows, and without negations above others than elements and closures.
indirect enum ConditionNode: Sendable {
  case all
  case none
  /// The value of a column is one of some.
  case value(Column, ByteRanges)
  /// One of the elements is one of some; or none is.
  case elements(Column, ByteRanges, isNegated: Bool)
  /// What only a closure can tell.
  case closure(RowTest)
  /// Rows that something else tells; or all others.
  case selection(SelectionTest, isNegated: Bool)
  /// Rows of these numbers; or all others.
  case listed(RowIDList, isNegated: Bool)
  case and([ConditionNode])
  case or([ConditionNode])
}

/// A closure of the app's, behind its types: `ClosureTest` of those of the collection.
class RowTest: @unchecked Sendable {
  // Sendable: safe because subclasses have nothing that changes.
  /// What is true where this is false.
  var negated: RowTest { self }
}

/// A closure over rows of a collection.
final class ClosureTest<Object: Sendable, Metadata: Sendable>: RowTest, @unchecked Sendable {
  // Sendable: safe because the closure is, and never changes.
  let body: @Sendable (Object, Metadata?) throws -> Bool

  init(_ body: @escaping @Sendable (Object, Metadata?) throws -> Bool) { self.body = body }

  override var negated: RowTest { ClosureTest { [body] in try !body($0, $1) } }
}

extension ConditionNode {
  /// What is true where this is false. Goes down to the comparisons, whose ranges are turned around.
  var negated: Self {
    switch self {
    case .all: .none
    case .none: .all
    case .value(let column, let ranges): .value(column, ranges.complement)
    case .elements(let column, let ranges, let isNegated): .elements(column, ranges, isNegated: !isNegated)
    case .closure(let test): .closure(test.negated)
    case .selection(let test, let isNegated): .selection(test, isNegated: !isNegated)
    case .listed(let list, let isNegated): .listed(list, isNegated: !isNegated)
    case .and(let nodes): nodes.reduce(.none) { Self.either($0, $1.negated) }
    case .or(let nodes): nodes.reduce(.all) { Self.both($0, $1.negated) }
    }
  }

  /// Both; comparisons of one column become one.
  static func both(_ left: Self, _ right: Self) -> Self {
    switch (left, right) {
    case (.none, _), (_, .none): return .none
    case (.all, let other), (let other, .all): return other
    default: break
    }
    var nodes: [Self] = []
    for node in left.conjuncts + right.conjuncts {
      guard case .value(let column, let ranges) = node,
        let index = nodes.firstIndex(where: { $0.column == column.id }),
        case .value(_, let known) = nodes[index]
      else {
        nodes.append(node)
        continue
      }
      let common = known.intersection(ranges)
      if common.isEmpty { return .none }
      nodes[index] = .value(column, common)
    }
    return nodes.count == 1 ? nodes[0] : .and(nodes)
  }

  /// Either; comparisons of one column become one.
  static func either(_ left: Self, _ right: Self) -> Self {
    switch (left, right) {
    case (.all, _), (_, .all): return .all
    case (.none, let other), (let other, .none): return other
    default: break
    }
    var nodes: [Self] = []
    for node in left.disjuncts + right.disjuncts {
      if case .value(let column, let ranges) = node,
        let index = nodes.firstIndex(where: { $0.column == column.id }), case .value(_, let known) = nodes[index]
      {
        let either = known.union(ranges)
        if either.isAll { return .all }
        nodes[index] = .value(column, either)
      } else if case .elements(let column, let ranges, false) = node,
        let index = nodes.firstIndex(where: { $0.elementColumn == column.id }),
        case .elements(_, let known, _) = nodes[index]
      {
        nodes[index] = .elements(column, known.union(ranges), isNegated: false)
      } else {
        nodes.append(node)
      }
    }
    return nodes.count == 1 ? nodes[0] : .or(nodes)
  }

  /// The parts that must all be true.
  var conjuncts: [Self] {
    switch self {
    case .all: []
    case .and(let nodes): nodes
    default: [self]
    }
  }

  /// The parts of which one must be true.
  var disjuncts: [Self] {
    switch self {
    case .none: []
    case .or(let nodes): nodes
    default: [self]
    }
  }

  /// The column whose value is compared; nil if that is not all that is asked.
  var column: ColumnID? {
    if case .value(let column, _) = self { return column.id }
    return nil
  }

  /// The column of which an element is asked for.
  private var elementColumn: ColumnID? {
    if case .elements(let column, _, false) = self { return column.id }
    return nil
  }

  /// Whether it asks for more than the object and the number of a row.
  var asksBeyondObject: Bool {
    switch self {
    case .all, .none, .listed: false
    case .value(let column, _), .elements(let column, _, _): column.id.half != .object
    case .closure, .selection: true
    case .and(let nodes), .or(let nodes): nodes.contains(where: \.asksBeyondObject)
    }
  }

  /// Whether a row satisfies it. Without key and number it asks for neither.
  func isTrue<Object: Sendable, Metadata: Sendable>(_ object: Object, _ metadata: Metadata?) throws -> Bool {
    var bytes: [UInt8] = []
    return try isTrue(object, metadata, nil, nil, &bytes)
  }

  /// Whether a row satisfies it.
  func isTrue<Object: Sendable, Metadata: Sendable>(_ row: Row<Object, Metadata>) throws -> Bool {
    var bytes: [UInt8] = []
    return try isTrue(row.object, row.metadata, row.key, row.rowID, &bytes)
  }

  /// The same, with memory for the bytes of values that is there for the next row as well.
  func isTrue<Object: Sendable, Metadata: Sendable>(
    _ object: Object, _ metadata: Metadata?, _ key: String?, _ rowID: RowID?, _ bytes: inout [UInt8]
  ) throws -> Bool {
    switch self {
    case .all: return true
    case .none: return false
    case .value(let column, let ranges):
      if column.id.half == .key { return key.map { ranges.contains($0.sortBytes) } ?? false }
      bytes.removeAll(keepingCapacity: true)
      try column.source(of: Object.self, Metadata.self).append(object, metadata, &bytes) { _ in }
      return ranges.contains(bytes)
    case .elements(let column, let ranges, let isNegated):
      return try column.values(of: object, metadata).contains { ranges.contains($0) } != isNegated
    case .closure(let test):
      // Conditions of a collection have its types.
      return try unsafe unsafeDowncast(test, to: ClosureTest<Object, Metadata>.self).body(object, metadata)
    case .selection: preconditionFailure("a selection is tested before its rows are found")
    case .listed(let list, let isNegated): return rowID.map { list.contains($0) != isNegated } ?? false
    case .and(let nodes):
      for node in nodes where try !node.isTrue(object, metadata, key, rowID, &bytes) { return false }
      return true
    case .or(let nodes):
      for node in nodes where try node.isTrue(object, metadata, key, rowID, &bytes) { return true }
      return false
    }
  }

  /// Whether there is a part, or a part of one, for which this is true.
  func hasPart(where isMeant: (Self) -> Bool) -> Bool {
    switch self {
    case .and(let nodes), .or(let nodes): nodes.contains { $0.hasPart(where: isMeant) }
    default: isMeant(self)
    }
  }

  /// Whether a row's key, and nothing else of it, decides.
  var asksKey: Bool {
    if case .value(let column, _) = self { return column.id.half == .key }
    return false
  }

  /// Whether it is true of every row.
  var isAll: Bool {
    if case .all = self { return true }
    return false
  }

  /// Whether rows are told by something beside their fields.
  var isSelection: Bool {
    switch self {
    case .selection, .listed: true
    default: false
    }
  }

  /// Whether it holds for every row for which `other` does: found out for comparisons of the same columns, and no
  /// otherwise.
  func holds(wherever other: Self) -> Bool {
    conjuncts.allSatisfy { node in
      other.conjuncts.contains { given in
        switch (node, given) {
        case (.value(let column, let ranges), .value(let same, let narrower)):
          column.id == same.id && narrower.isSubset(of: ranges)
        case (.elements(let column, let ranges, false), .elements(let same, let narrower, false)):
          column.id == same.id && narrower.isSubset(of: ranges)
        default: false
        }
      }
    }
  }
}
