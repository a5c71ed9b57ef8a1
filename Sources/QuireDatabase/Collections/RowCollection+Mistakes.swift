// What is often written of a collection and cannot be meant, each with the compiler's message that says what to write.

extension RowCollection {
  /// Never there: what the compiler takes for a type that has no coder, to say so.
  @available(
    *, unavailable,
    message: """
      Objects and metadata of a collection are Codable and Sendable: declare their types as such, as in \
      `struct Song: Codable, Sendable`, or say by `coder:` and `metadataCoder:` how they become bytes
      """
  )
  public init(_ name: String) { preconditionFailure("no program compiles that calls this") }
}
