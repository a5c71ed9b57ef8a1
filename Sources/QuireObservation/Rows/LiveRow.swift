// One row that a screen shows and edits.

public import Observation
public import QuireDatabase

/// The row of a key, kept up to date, whether it exists or not, and edits of its object that are written at once.
///
/// ```swift
/// let song = LiveRow(db, .songs, "s1")
/// song.edit { $0.rating = 5 }
/// ```
///
/// An edit shows at once and is written on a thread of the database's: it is applied to the object as it is stored by
/// then, so that it takes back nothing that others have changed meanwhile. Edits that come while one is being written
/// go into the next transaction together. Until all are written, `object` has them; then it is what is stored. An edit
/// that fails is left out, alone if it has thrown itself, and `editError` tells.
///
/// Lets go of everything when nobody holds it any more, but for edits: those are written to the end.
///
/// Invariants: a task writes if and only if there are edits that wait or are being written; a draft is only there then.
///
/// The guide is <doc:SwiftUI>.
@MainActor @Observable
public final class LiveRow<Object: Sendable, Metadata: Sendable> {
  /// A change of an object.
  public typealias Edit = @Sendable (inout Object) throws -> Void

  /// Where the row is stored.
  @ObservationIgnored public let collection: RowCollection<Object, Metadata>
  /// The row's key.
  @ObservationIgnored public let key: String
  /// What the newest edit that failed has failed with; nil after one that was written.
  public private(set) var editError: (any Error)?
  /// Whether edits are not written yet.
  public private(set) var isWriting = false

  private var draft: Object?
  @ObservationIgnored private let database: Database
  @ObservationIgnored private let query: LiveQuery<Row<Object, Metadata>?>
  /// Those that no transaction has taken yet.
  @ObservationIgnored private var edits: [Edit] = []
  @ObservationIgnored private var writer: Task<Void, Never>?

  /// Follows the row of a key.
  public convenience init(_ database: Database, _ collection: RowCollection<Object, Metadata>, _ key: String) {
    self.init(database, collection, key, LiveQuery(database, initial: nil) { tx in try tx[collection].row(key) })
  }

  /// Follows the row of a key. What is stored anew as it was is not told.
  public convenience init(
    _ database: Database, _ collection: RowCollection<Object, Metadata>, _ key: String
  ) where Object: Equatable, Metadata: Equatable {
    self.init(database, collection, key, LiveQuery(database, initial: nil) { tx in try tx[collection].row(key) })
  }

  private init(
    _ database: Database, _ collection: RowCollection<Object, Metadata>, _ key: String,
    _ query: LiveQuery<Row<Object, Metadata>?>
  ) {
    (self.database, self.collection, self.key, self.query) = (database, collection, key, query)
  }

  // MARK: What is shown

  /// The row as it is stored; nil if there is none, or none was read yet.
  public var row: Row<Object, Metadata>? { query.value }
  /// The object, with the edits that are not written yet.
  public var object: Object? { draft ?? query.value?.object }
  /// The metadata, if there are some.
  public var metadata: Metadata? { query.value?.metadata }
  /// Whether the row was looked for: only then does a nil say that there is none.
  public var isLoaded: Bool { query.isLoaded }
  /// Whether commits are followed.
  public var isLive: Bool { query.isLive }
  /// What the newest read has thrown; nil if it has succeeded.
  public var error: (any Error)? { query.error }

  /// Reads the row now, on the caller's thread.
  public func load() { query.load() }
  /// Reads the row anew, and follows it again after `stop()`.
  public func refresh() { query.refresh() }
  /// Follows commits no more. Edits are written all the same.
  public func stop() { query.stop() }

  // MARK: Edits

  /// Changes the object, here at once and in the database as soon as it is this row's turn.
  ///
  /// If the row does not exist by then, nothing is written, and `editError` is one of the code `rowMissing`. What the
  /// closure throws here is told by `editError`, too, and nothing is changed. It runs more than once.
  public func edit(_ change: @escaping Edit) {
    if var object {
      do {
        try change(&object)
      } catch {
        editError = error
        return
      }
      draft = object
    }
    edits.append(change)
    if !isWriting { isWriting = true }
    if writer == nil { writer = Task { await self.writeAll() } }
    checkInvariants()
  }

  /// One field of the object, as a control binds it: reading gives `fallback` where there is no object, and setting
  /// edits.
  public subscript<Field: Sendable>(
    _ path: any WritableKeyPath<Object, Field> & Sendable, default fallback: Field
  ) -> Field {
    get { object?[keyPath: path] ?? fallback }
    set { edit { $0[keyPath: path] = newValue } }
  }

  /// Returns when all edits are written, or have failed.
  public func settle() async { while let writer { await writer.value } }

  private func writeAll() async {
    while !edits.isEmpty {
      let taken = edits
      edits = []
      do {
        let failure = try await database.write { [collection, key] tx in
          try Self.apply(taken, to: tx[collection], key)
        }
        if failure != nil || editError != nil { editError = failure }
      } catch {
        editError = error
      }
      // What was written shows before the draft goes.
      query.load()
    }
    (draft, isWriting, writer) = (nil, false, nil)
    checkInvariants()
  }

  /// Carries out all edits that do not throw. Returns what the last one that does has thrown.
  nonisolated private static func apply(
    _ edits: [Edit], to rows: WritableRows<Object, Metadata>, _ key: String
  ) throws -> (any Error)? {
    var failure: (any Error)?
    let isThere = try rows.update(key) { object in
      for edit in edits {
        var edited = object
        do { try edit(&edited) } catch {
          failure = error
          continue
        }
        object = edited
      }
    }
    guard isThere else {
      throw DatabaseError(
        .rowMissing, "A row that is edited has gone. Store it anew, or leave the screen.",
        collection: rows.collectionName, key: key)
    }
    return failure
  }

  /// Stops the process, in debug builds, if the invariants at the head of the type do not hold.
  func checkInvariants() {
    assert((writer != nil) == isWriting, "edits wait if and only if somebody writes")
    assert(isWriting || (draft == nil && edits.isEmpty), "edits are shown or kept that nobody writes")
  }
}

extension DatabaseError.Code {
  /// A row that was to be edited does not exist.
  public static let rowMissing = DatabaseError.Code("rowMissing")
}
