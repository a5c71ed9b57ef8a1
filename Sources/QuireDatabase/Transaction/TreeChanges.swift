// What a write transaction changes in the trees of extensions.

internal import QuireStorage

/// What a write transaction changes in the trees of extensions, while somebody observes.
///
/// Invariant: `keyCount` counts the keys and parts in `extensions`, and exceeds `Limits.observedKeyCount` only if
/// nothing is told apart any more.
struct TreeChanges: Sendable {
  private(set) var extensions: [ExtensionID: ExtensionParts] = [:]
  private var keyCount = 0
  /// Whether there were too many to be told apart.
  private(set) var isUnknown = false

  mutating func insert(_ interval: ByteInterval, inTree name: String, of id: ExtensionID) {
    if isUnknown { return }
    keyCount += 1
    guard keyCount <= Limits.observedKeyCount else {
      isUnknown = true
      extensions = [:]
      return
    }
    extensions[id, default: ExtensionParts()].insert(interval, inTree: name, limit: .max)
  }

  /// All of an extension has changed.
  mutating func takeWhole(_ id: ExtensionID) { extensions[id, default: ExtensionParts()].isWhole = true }
}
