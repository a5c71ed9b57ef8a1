// What views limit.

/// The limits of views.
public enum ViewLimits {
  /// How many bytes of a sort key count.
  public static let sortKeyByteCount = 960
}
