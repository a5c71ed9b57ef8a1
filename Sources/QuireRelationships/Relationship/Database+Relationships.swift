// Registering relationships, and what that did or would do.

public import QuireDatabase

extension Database {
  /// Registers a relationship, and says what that has done. Otherwise like `register` of any extension.
  ///
  /// Where an object names a row that does not exist, or a row was removed while the relationship was not registered,
  /// its rules hold: they may delete rows. `previewRegistration(of:)` tells before, and `Relationship.missingEnds` has
  /// such a registration refused.
  ///
  /// - Throws: `danglingEdge` as the cause of `extensionFailed` if `missingEnds` is `refuse` and an edge lacks a row,
  ///   and as `register` of any extension.
  @discardableResult
  public func register<Object>(
    _ relationship: Relationship<Object>, progress: (Progress) throws -> Void = { _ in }
  ) throws -> RelationshipReport {
    let watch = RegistrationWatch(isPreview: false)
    try registerPlainly(relationship.watched(by: watch), progress)
    return try report(watch, relationship)
  }

  /// The same on a thread of the database's; `progress` is called there.
  @concurrent @discardableResult
  public func register<Object>(
    _ relationship: Relationship<Object>, progress: @escaping @Sendable (Progress) throws -> Void = { _ in }
  ) async throws -> RelationshipReport {
    let watch = RegistrationWatch(isPreview: false)
    try await registerPlainly(relationship.watched(by: watch), progress)
    return try await read { [self] tx in try report(watch, relationship, tx) }
  }

  /// Finds out what registering a relationship would do now, and does not do it: no row and no file is deleted.
  ///
  /// Takes as long as registering it, and blocks other writers no longer than that does. What is stored under the name
  /// stays, but counts as out of date afterwards, so that objects are asked again when the relationship is registered.
  ///
  /// - Throws: as `register`, `extensionExists` for a relationship that is registered.
  public func previewRegistration<Object>(of relationship: Relationship<Object>) throws -> RelationshipReport {
    let stored = try extensions().first { ByteString($0.name) == ByteString(relationship.name) }
    let isUpToDate =
      stored?.state == .ready && stored?.version == relationship.version && stored?.isRegistered == false
      && stored?.kind == RelationshipSettings.kind
    if isUpToDate { return RelationshipReport() }
    let watch = RegistrationWatch(isPreview: true)
    do { try registerPlainly(relationship.watched(by: watch)) { _ in } } catch let error as DatabaseError {
      guard error.code == .extensionFailed, error.cause is RegistrationWatch.End else { throw error }
    }
    return watch.report
  }

  /// The same on a thread of the database's.
  @concurrent
  public func previewRegistration<Object>(of relationship: Relationship<Object>) async throws -> RelationshipReport {
    let preview = { try self.previewRegistration(of: relationship) }
    return try preview()
  }

  private func registerPlainly(_ value: some DatabaseExtension, _ progress: (Progress) throws -> Void) throws {
    try register(value, progress: progress)
  }

  @concurrent
  private func registerPlainly(
    _ value: some DatabaseExtension, _ progress: @escaping @Sendable (Progress) throws -> Void
  ) async throws {
    try await register(value, progress: progress)
  }

  private func report<Object>(
    _ watch: RegistrationWatch, _ relationship: Relationship<Object>
  ) throws -> RelationshipReport {
    try read { tx throws in try report(watch, relationship, tx) }
  }

  private func report<Object>(
    _ watch: RegistrationWatch, _ relationship: Relationship<Object>, _ tx: ReadTransaction
  ) throws -> RelationshipReport {
    var report = watch.report
    if !report.wasBuilt { report.edgeCount = try tx.relationship(relationship).count() }
    return report
  }
}

extension Relationship {
  fileprivate func watched(by watch: RegistrationWatch) -> Self {
    var copy = self
    copy.settings.watch = watch
    return copy
  }
}
