"""PyInstaller's hook for this package.

PyInstaller follows import statements, but operators and optional parts are imported by names in tables, and some files are data or run by workers.
So this hook names all modules, except the kit for plug-in authors' tests, and all data files. PySpark reads its error messages when it is imported.
"""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("sframe_spark", filter=lambda name: not name.startswith("sframe_spark.testing"))
datas = [
    *collect_data_files("sframe_spark"),
    *collect_data_files("sframe_spark", include_py_files=True, includes=["session/worker_daemon/*.py"]),
    *collect_data_files("pyspark", includes=["errors/*.json"]),
]
