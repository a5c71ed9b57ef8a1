// Why an archive cannot be read.

/// Why an archive or a property list cannot be read.
public struct ArchiveError: Error, CustomStringConvertible {
  /// What is wrong.
  public let description: String

  /// An error that says this.
  public init(_ description: String) { self.description = description }

  /// An error for bytes that no writer makes.
  public static func damaged(_ what: String) -> ArchiveError { ArchiveError("This is no archive: \(what).") }
}
