// Live queries of conditions and searches.

internal import Observation
public import QuireDatabase
public import QuireIndexes

extension LiveQuery {
  /// The rows that a query finds, in its order; empty until they are there.
  ///
  /// ```swift
  /// let good = LiveQuery(db, RowCollection.songs.query { $0.rating >= 4 }.order(by: \.title))
  /// ```
  ///
  /// Words are searched for by the condition `.rows(SearchSelection(words))`. Where rows are many, a view decodes those
  /// alone that are on the screen: see `LiveView`.
  public convenience init<Object, Metadata>(
    _ database: Database, _ query: RowQuery<Object, Metadata>, minimumInterval: Duration = .milliseconds(16)
  ) where Value == [Row<Object, Metadata>] {
    self.init(database, initial: [], minimumInterval: minimumInterval) { tx in try tx.find(query).all }
  }

  /// The rows that a query finds, in its order; empty until they are there. As the form above, and rows that equal
  /// those before are not told.
  public convenience init<Object: Equatable, Metadata: Equatable>(
    _ database: Database, _ query: RowQuery<Object, Metadata>, minimumInterval: Duration = .milliseconds(16)
  ) where Value == [Row<Object, Metadata>] {
    self.init(database, initial: [], minimumInterval: minimumInterval) { tx in try tx.find(query).all }
  }

  /// Follows another query; its rows take the place of those of the one before when they are there.
  public func follow<Object, Metadata>(_ query: RowQuery<Object, Metadata>) where Value == [Row<Object, Metadata>] {
    follow { tx in try tx.find(query).all }
  }
}
