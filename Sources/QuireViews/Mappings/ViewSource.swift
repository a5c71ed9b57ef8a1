// How mappings read their view.

internal import QuireDatabase

/// How mappings read the counts of their view, whatever its type.
struct ViewSource: Sendable {
  /// What a snapshot shows of a view.
  struct State {
    let life: ExtensionLife
    let counts: [(group: String, count: Int)]
  }

  /// Reads the counts of these groups, or of all groups for nil. Nil if the view is not there in the snapshot.
  let state: @Sendable (ReadTransaction, [String]?) throws -> State?

  init(_ view: some ViewExtension) {
    let other = ViewSource(viewNamed: view.name)
    state = { tx, groups in
      do {
        return try Self.unlessMissing { try Self.state(view, tx, groups) }
      } catch let error as DatabaseError where error.code == .extensionMismatch {
        // Another version or another kind has the name: the screen loads that anew, and reads of rows throw.
        return try other.state(tx, groups)
      }
    }
  }

  /// Whatever view is registered under the name when it is asked.
  init(viewNamed name: String) {
    state = { tx, groups in
      try Self.unlessMissing {
        let found = try tx.registeredExtension(named: name)
        guard let view = found as? any ViewExtension else {
          throw DatabaseError(
            .viewRefused,
            "“\(name)” is registered as a \(type(of: found)), which is no view. Make the mappings with a view's name.")
        }
        return try Self.state(view, tx, groups)
      }
    }
  }

  private static func state(_ view: some ViewExtension, _ tx: ReadTransaction, _ groups: [String]?) throws -> State {
    let reader = try tx.view(view)
    return State(life: try reader.store.life, counts: (groups ?? reader.groups).map { ($0, reader.count(in: $0)) })
  }

  private static func unlessMissing(_ body: () throws -> State?) throws -> State? {
    do { return try body() } catch let error as DatabaseError {
      guard error.code == .extensionNotReady || error.code == .extensionNotRegistered else { throw error }
      return nil
    }
  }
}
