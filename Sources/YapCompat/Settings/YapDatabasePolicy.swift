// What caches do with the objects of a collection.

/// Whether connections share the objects that they have decoded.
public enum YapDatabasePolicy: Int, Sendable {
  /// Each decodes for itself.
  case containment
  /// They have the very same one.
  case share
  /// Each has a copy.
  case copy
}
