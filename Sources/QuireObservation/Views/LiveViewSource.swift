// How a live view reads its view.

internal import QuireDatabase
internal import QuireViews

/// A view of whatever type, and what a snapshot says of it.
struct LiveViewSource<Object: Sendable, Metadata: Sendable>: Sendable {
  /// Whether a snapshot shows the view.
  struct State {
    var isReady = false
    /// What is registered under its name in another version or kind.
    var mismatch: DatabaseError?
  }

  /// The view in a transaction.
  let reader: @Sendable (ReadTransaction) throws -> ViewReader<Object, Metadata>

  init(_ view: some ViewExtension<Object, Metadata>) { reader = { tx in try tx.view(view) } }

  /// Whether the snapshot shows the view.
  func state(in snapshot: PinnedSnapshot) throws -> State {
    try snapshot.read { tx in
      do {
        _ = try reader(tx)
        return State(isReady: true)
      } catch let error as DatabaseError {
        switch error.code {
        case .extensionNotReady, .extensionNotRegistered: return State()
        case .extensionMismatch: return State(mismatch: error)
        default: throw error
        }
      }
    }
  }

  /// Where a row stands on the screen.
  func path(of key: RowKey, _ mappings: ViewMappings, in snapshot: PinnedSnapshot) throws -> ViewPath? {
    try snapshot.read { tx in try reader(tx).path(of: key, mappings) }
  }
}
