// What a view of SwiftUI reads, declared as a property.

#if canImport(SwiftUI)
  public import QuireDatabase
  public import QuireIndexes
  public import SwiftUI

  /// What a closure or a query reads of the database of the environment, kept up to date while the view is there.
  ///
  /// The wrapped value is that of a `LiveQuery`, and `$songs` is the query itself: its error, and whether it has
  /// loaded. It is nil, and the value the initial one, as long as the environment has no database. What is read is
  /// decided when the view appears: for a closure that changes with the view, hold a `LiveQuery` in a `State`, and have
  /// it `follow`.
  @propertyWrapper @MainActor
  public struct LiveResults<Value: Sendable>: DynamicProperty {
    @Environment(\.database) private var database
    @State private var holder = LiveQueryHolder<Value>()
    private let initial: Value
    private let make: @MainActor (Database) -> LiveQuery<Value>

    /// Reads a closure.
    public init(wrappedValue: Value, _ body: @escaping @Sendable (ReadTransaction) throws -> Value) {
      initial = wrappedValue
      make = { database in LiveQuery(database, initial: wrappedValue, body) }
    }

    /// Reads a closure. A result that equals the one before draws nothing anew.
    public init(
      wrappedValue: Value, _ body: @escaping @Sendable (ReadTransaction) throws -> Value
    ) where Value: Equatable {
      initial = wrappedValue
      make = { database in LiveQuery(database, initial: wrappedValue, body) }
    }

    /// Reads the rows of a query.
    public init<Object, Metadata>(_ query: RowQuery<Object, Metadata>) where Value == [Row<Object, Metadata>] {
      initial = []
      make = { database in LiveQuery(database, query) }
    }

    /// Reads the rows of a query. Rows that equal those before draw nothing anew.
    public init<Object: Equatable, Metadata: Equatable>(
      _ query: RowQuery<Object, Metadata>
    ) where Value == [Row<Object, Metadata>] {
      initial = []
      make = { database in LiveQuery(database, query) }
    }

    /// The newest result.
    public var wrappedValue: Value { holder.query?.value ?? initial }

    /// The live query; nil as long as there is no database.
    public var projectedValue: LiveQuery<Value>? { holder.query }

    /// Called by SwiftUI before it draws the view.
    nonisolated public func update() { MainActor.assumeIsolated { holder.connect(database, make) } }
  }

  /// Keeps the query of a view for as long as SwiftUI keeps the view, and makes another one for another database.
  @MainActor
  final class LiveQueryHolder<Value: Sendable> {
    private(set) var query: LiveQuery<Value>?
    private var database: Database?

    nonisolated init() {}

    func connect(_ database: Database?, _ make: @MainActor (Database) -> LiveQuery<Value>) {
      guard database != self.database else { return }
      self.database = database
      query = database.map(make)
    }
  }
#endif
