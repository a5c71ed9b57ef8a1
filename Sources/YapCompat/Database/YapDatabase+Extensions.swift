// Registering extensions.

internal import Quire

extension YapDatabase {
  // MARK: Registering

  /// Registers an extension, and returns when it has all rows. New call: `Database.register(_:progress:)`, which
  /// throws.
  ///
  /// The same code may run again: a view that was made and registered by the same lines, with the same name, version,
  /// options and parent, stays the first one, and this one is let go; so does a relationship. Blocks are not compared:
  /// where one line makes views with different ones, give these different versions.
  ///
  /// - Returns: whether it is registered. If not, the error goes to `onError`: the name is taken, the extension is
  ///   registered already, what it depends on is not, or a closure of it failed.
  @discardableResult
  public func register(
    _ extension: YapDatabaseExtension, withName name: String, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    do {
      let site = CallSite(fileID: fileID, line: line)
      try registrar.inTurn(self) { try registrar.add(`extension`, name, site, in: self) }
      return true
    } catch {
      report(error)
      return false
    }
  }

  /// The same; the settings of the original's registering connection have no meaning. New call:
  /// `Database.register(_:progress:)`.
  @discardableResult
  public func register(
    _ extension: YapDatabaseExtension, withName name: String, config: YapDatabaseConnectionConfig?,
    fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    register(`extension`, withName: name, fileID: fileID, line: line)
  }

  /// Registers an extension when those before it are done. New call: `Database.register` with `await`.
  ///
  /// The completion block runs on its queue, nil for the main queue, and gets whether the extension is registered; if
  /// not, `onError` got the error before. `config` has no meaning here.
  @preconcurrency public func asyncRegister(
    _ extension: YapDatabaseExtension, withName name: String, config: YapDatabaseConnectionConfig? = nil,
    completionQueue: DispatchQueue? = nil, completionBlock: (@Sendable (_ ready: Bool) -> Void)? = nil,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    let site = CallSite(fileID: fileID, line: line)
    registrar.async { [self] in
      var isReady = false
      do {
        try registrar.add(`extension`, name, site, in: self)
        isReady = true
      } catch {
        report(error)
      }
      guard let completionBlock else { return }
      (completionQueue ?? .main).async { [isReady] in completionBlock(isReady) }
    }
  }

  // MARK: Unregistering

  /// Unregisters an extension and all that depend on it, and removes what is stored of them; works for those of earlier
  /// openings, too. Errors go to `onError`. New call: `Database.unregister(extensionNamed:)`.
  public func unregisterExtension(withName name: String) {
    do { try registrar.inTurn(self) { try registrar.remove(name, in: self) } } catch { report(error) }
  }

  /// The same when those before it are done. New call: `Database.unregister` with `await`.
  @preconcurrency public func asyncUnregisterExtension(
    withName name: String, completionQueue: DispatchQueue? = nil, completionBlock: (@Sendable () -> Void)? = nil
  ) {
    registrar.async { [self] in
      do { try registrar.remove(name, in: self) } catch { report(error) }
      if let completionBlock { (completionQueue ?? .main).async(execute: completionBlock) }
    }
  }

  // MARK: Asking

  /// The extension that is registered under a name; nil if there is none. New call: `Database.extensions()`.
  public func registeredExtension(_ name: String) -> YapDatabaseExtension? { extensions[name] }

  /// All extensions that are registered, by their names. New call: `Database.extensions()`.
  public func registeredExtensions() -> [String: YapDatabaseExtension] { extensions.all }

  /// The names of extensions that are stored in the file, but not registered in this opening. They are kept, and marked
  /// as to be built anew when a write goes past them; the original dropped them then. New call:
  /// `Database.extensions()`.
  public func previouslyRegisteredExtensionNames() -> [String] {
    do {
      return try quire.extensions().filter { !$0.isRegistered && $0.kind != ExtensionValues.kind }.map(\.name)
    } catch {
      report(error)
      return []
    }
  }

  /// Runs `completionBlock` when everything that was asked of extensions before is done. New call: `await` the calls
  /// themselves.
  @preconcurrency public func flushExtensionRequests(
    withCompletionQueue completionQueue: DispatchQueue?, completionBlock: (@Sendable () -> Void)?
  ) {
    registrar.async {
      if let completionBlock { (completionQueue ?? .main).async(execute: completionBlock) }
    }
  }
}
