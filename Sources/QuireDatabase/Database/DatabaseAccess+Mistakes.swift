// Transactions whose closures wait, which there are none of: for the compiler's message.

extension DatabaseAccess {
  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: """
      The closure of a transaction cannot await: other writers wait for its end. Await what it needs before it, and \
      hand that in
      """
  )
  public func write<Result>(_ body: (WriteTransaction) async throws -> Result) async throws -> Result {
    preconditionFailure("no program compiles that calls this")
  }

  /// Never there: for the compiler's message.
  @available(
    *, unavailable,
    message: "The closure of a transaction cannot await. Return what it has read, and await with that behind it"
  )
  public func read<Result>(_ body: (ReadTransaction) async throws -> Result) async throws -> Result {
    preconditionFailure("no program compiles that calls this")
  }
}
