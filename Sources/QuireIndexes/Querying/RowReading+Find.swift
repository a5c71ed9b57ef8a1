// Asking a collection for rows by their fields.

public import Foundation
public import QuireDatabase

extension RowReading {
  /// The rows that satisfy a condition on their fields.
  ///
  /// ```swift
  /// try tx[.songs].find { $0.year == 1990 && $0.tags.contains("jazz") }.count
  /// ```
  ///
  /// Served by the collection's registered `Indexes` where they can; otherwise all rows are read. Nothing is read
  /// before the result is asked for something.
  public func find(
    _ condition: (Fields<Object, Metadata>) throws -> Condition<Object, Metadata>
  ) rethrows -> FoundRows<Object, Metadata> {
    find(try condition(Fields()))
  }

  /// The rows that satisfy a condition.
  public func find(_ condition: Condition<Object, Metadata>) -> FoundRows<Object, Metadata> {
    FoundRows(readable, QueryTerms(condition: condition.node))
  }

  /// The rows that satisfy one of Foundation's predicates.
  ///
  /// - Throws: `IndexError.unplannable` if it says more than comparisons of fields with values; see
  ///   `Condition.init(_:)`.
  public func find(_ predicate: Predicate<Object>) throws -> FoundRows<Object, Metadata> {
    find(try Condition<Object, Metadata>(predicate))
  }

  /// The object whose field is equal to `value`, of several the one that was stored first; for unique fields.
  public func find<Value: SortKey>(
    _ path: any KeyPath<Object, Value> & Sendable, _ value: Value
  ) throws -> Object? {
    try find { $0[path] == value }.first?.object
  }

  /// There is no `filter`, which would read and decode every row.
  @available(*, unavailable, message: "Use find { $0.field == value }, which indexes serve; or rows.filter { … }.")
  public func filter(_ isIncluded: (Object) throws -> Bool) -> [Object] { [] }
}

extension WritableRows {
  /// Removes the rows that satisfy a condition, and returns how many there were.
  @discardableResult
  public func remove(
    where condition: (Fields<Object, Metadata>) throws -> Condition<Object, Metadata>
  ) throws -> Int {
    try remove(try find(condition).keys)
  }

  /// Changes the objects of the rows that satisfy a condition, and returns how many there were. Which rows these are is
  /// found out before the first is changed.
  @discardableResult
  public func update(
    where condition: (Fields<Object, Metadata>) throws -> Condition<Object, Metadata>,
    _ body: (inout Object) throws -> Void
  ) throws -> Int {
    var count = 0
    for key in try find(condition).keys where try update(key, body) { count += 1 }
    return count
  }
}
