// Ending an enumeration.

/// What the blocks of `enumerate…` get to end the enumeration: `stop.pointee = true`, as with the original's pointer.
public final class YapDatabaseStop {
  /// Whether the enumeration ends with this step.
  public var pointee = false

  init() {}
}
