// A database that an app has open: looked at through the app's control socket.

import ArgumentParser
import QuireDatabase
import QuireStorage

/// The file to look at, if need be through the app that has it open.
struct LiveArgument: ParsableArguments {
  @OptionGroup var files: DatabaseArgument
  @Option(
    help: "The control socket of the app that has the database open; FILE-control if left out.", completion: .file())
  var control: String?

  var file: String { files.file }

  /// Opens the database by `direct`, or, if an app has it open, by `held` at a checkpoint that the app holds.
  ///
  /// - Parameter isTold: whether a line says so.
  /// - Returns: what was opened, and the app, which has to confirm in the end that it still holds the checkpoint.
  func open<Opened>(
    isTold: Bool = true, _ direct: () throws -> Opened, held: (CheckpointImage) throws -> Opened
  ) throws -> (Opened, ControlClient?) {
    if control == nil {
      do { return (try direct(), nil) } catch let error where isOpenElsewhere(error) {}
    }
    let app = try self.app()
    let image = try app.hold()
    let opened = try held(image)
    let commit = image.metaPage.map { "\($0.csn.rawValue)" } ?? "?"
    if isTold { complain("\(file) is open in \(Self.name(app.process)): looking at its commit \(commit)") }
    return (opened, app)
  }

  /// Opens the files as an engine, to read them only.
  func openEngine() throws -> (StorageEngine, ControlClient?) {
    let options = StorageOptions(maintainsWhenIdle: false, createsIfMissing: false, isReadOnly: true)
    return try open {
      try StorageEngine(at: file, options: options)
    } held: { image in
      try StorageEngine(at: file, options: options, held: image)
    }
  }

  /// Works on the files, or has the app do so that has them open.
  func work<Result>(
    _ direct: (StorageEngine) throws -> Result, inApp: (ControlClient) throws -> Result
  ) throws -> Result {
    if control == nil {
      do {
        let options = StorageOptions(maintainsWhenIdle: false, createsIfMissing: false)
        let engine = try StorageEngine(at: file, options: options)
        let result = try direct(engine)
        try engine.close()
        return result
      } catch let error where isOpenElsewhere(error) {}
    }
    return try inApp(app())
  }

  /// A number that an app tells; 0 if it is none.
  static func number(_ value: RowValue?) -> Int { value?.integer.flatMap { Int(exactly: $0) } ?? 0 }

  /// The app that has the database open.
  ///
  /// - Throws: `alreadyOpen`, with what to do, if it has no control socket.
  func app() throws -> ControlClient {
    // A socket stands beside the file that the app has opened, wherever a link leads to it.
    let path = control ?? "\(RealFileSystem().canonicalPath(file))-control"
    if let app = try ControlClient.connect(to: path) {
      try app.checkOpen(file)
      return app
    }
    if control != nil {
      throw DatabaseError(.notFound, "No app listens at this control socket. Check the path.", path: path)
    }
    let holder = Self.name((try? Inspector(at: file))?.holder)
    throw DatabaseError(
      .alreadyOpen,
      """
      The database is open in \(holder), which has no control socket at \(path). Open one there, by \
      `database.openControl()`, or look at a copy.
      """, path: file)
  }

  private static func name(_ process: Int32?) -> String { process.map { "process \($0)" } ?? "another process" }
}

/// Whether somebody else has the database open.
func isOpenElsewhere(_ error: any Error) -> Bool {
  (error as? DatabaseError)?.code == .alreadyOpen || (error as? StorageError)?.code == .alreadyOpen
}

/// What is left of an error when the app that was to hold the checkpoint has been asked: what was read after it let go
/// may be wrong, and is not the reason.
func reason(_ error: any Error, _ app: ControlClient?) -> any Error {
  guard error is DatabaseError || error is StorageError, let app else { return error }
  do { try app.confirm() } catch { return error }
  return error
}
