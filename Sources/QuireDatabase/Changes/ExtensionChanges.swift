// What extensions tell of a commit.

/// What an extension tells of a commit.
public protocol ExtensionChanges: Sendable {
  /// About how many bytes of memory the value takes: commits are kept for followers that lag behind, within limits.
  var byteCount: Int { get }
}

/// For extensions that tell nothing.
public struct NoExtensionChanges: ExtensionChanges {
  public var byteCount: Int { 0 }
}
