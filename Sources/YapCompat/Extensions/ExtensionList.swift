// The extensions that were registered through one `YapDatabase`.

/// Extensions by their names, in the order of registration.
///
/// Invariant: `names` has the names of `extensions`, each once.
final class ExtensionList: Sendable {
  private struct State {
    var extensions: [ByteName: YapDatabaseExtension] = [:]
    var names: [String] = []
  }

  private let state = Guarded(State())

  subscript(name: String) -> YapDatabaseExtension? { state.withLock { $0.extensions[ByteName(name)] } }

  /// The names in the order of registration.
  var names: [String] { state.withLock { $0.names } }

  /// All of them.
  var all: [String: YapDatabaseExtension] {
    state.withLock { state in
      Dictionary(state.extensions.map { ($0.key.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
  }

  func add(_ value: YapDatabaseExtension, _ name: String) {
    state.withLock { state in
      if state.extensions.updateValue(value, forKey: ByteName(name)) == nil { state.names.append(name) }
    }
    value.setRegisteredName(name)
  }

  func remove(_ name: String) {
    let removed = state.withLock { state in
      state.names.removeAll { $0.utf8.elementsEqual(name.utf8) }
      return state.extensions.removeValue(forKey: ByteName(name))
    }
    removed?.setRegisteredName(nil)
  }
}
